//! People of each service work while the local stack injects the faults of AWS (docs/hostile.md).
//! At the end, every acknowledged request has its effect once, and everything else has none.

use futures::{StreamExt, future::join_all, stream};
use jiff::{SignedDuration, Timestamp};
use local::{Builder, Rates, Stack};
use serde_json::json;
use std::{collections::BTreeSet, time::Duration};
use system_tests::{
    Answer, Client, drained,
    ledger::{Books, HOLDS, model::Stored, totals::totals},
    stack, text, until,
    wellness::{admin, challenge, of_company, registration_of, registrations_of},
};
use tokio::time::sleep;

/// Rates at which a request meets several faults. A frozen function would only take long.
const RATES: &str = "error=0.02,lost-before=0.02,lost-after=0.02,late=0.01,slow=0.02,stuck=0.002,throttle=0.02,\
    conflict=0.02,kill=0.01,freeze=0,twice=0.2,rewind=0.2,stale=0.7,lag=0.7";
const MAX_TRIES: usize = 200;
const PAUSE: Duration = Duration::from_millis(20);

/// A stack with faults. The environment variable `HOSTILE_SEED` is added to the seed.
fn hostile(seed: u64) -> Builder {
    let more: u64 = std::env::var("HOSTILE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_default();
    let seed = seed + more;
    stack().hostile(seed, Rates::usual().with(RATES).expect("rates"))
}

/// Repeats a request until its outcome is known.
async fn told(ask: impl AsyncFn() -> Answer) -> Answer {
    for _ in 0..MAX_TRIES {
        let answer = ask().await;
        if answer.status < 500 && answer.status != 429 {
            return answer;
        }
        sleep(PAUSE).await;
    }
    unreachable!("no outcome after {MAX_TRIES} requests")
}

/// Checks that enough faults happened. The kinds depend on the order of the calls.
fn check_injected(stack: &Stack) {
    let injected = stack.injected();
    assert!(injected.len() >= 8 && injected.values().sum::<u64>() >= 50, "{injected:?}");
}

macro_rules! for_three_seeds {
    ($($name:ident)+) => {
        $(mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn seed_1() { super::$name(1).await; }
            #[tokio::test(flavor = "multi_thread")]
            async fn seed_2() { super::$name(2).await; }
            #[tokio::test(flavor = "multi_thread")]
            async fn seed_3() { super::$name(3).await; }
        })+
    };
}

for_three_seeds! {
    ledger_neither_loses_nor_doubles_money
    bank_pays_each_payment_once
    wellness_enrols_and_awards_once
}

/// Books with four accounts of 100 dollars and one with grouped posting. The faults start after
/// they are opened.
async fn books(seed: u64) -> (Books, Vec<String>) {
    let stack = hostile(seed).start().await.expect("a stack");
    stack.set_calm(true);
    let books = Books::of(stack).await;
    let mut accounts = Vec::new();
    for number in 0..4 {
        accounts.push(books.funded(&format!("u-{number}"), "100.00").await);
    }
    let terms = json!({"userId": "shop", "accountType": "checking", "currency": "USD", "posting": "grouped"});
    let shop = books.operator.post("/ledger/accounts", &terms).await;
    accounts.push(text(&shop.body, "accountId").to_owned());
    (books, accounts)
}

fn cents(amount: &str) -> i64 {
    amount.replace('.', "").parse().expect("cents")
}

async fn ledger_neither_loses_nor_doubles_money(seed: u64) {
    let (books, accounts) = books(seed).await;
    books.stack.set_calm(false);
    let customers = (0..8).map(async |customer: usize| {
        let mut rng = fastrand::Rng::with_seed(seed * 100 + customer as u64);
        let mut changes = Vec::new();
        for number in 0..20 {
            let key = format!("k-{customer}-{number}");
            let (debit, credit) = (rng.usize(..4), rng.usize(..5));
            if debit == credit {
                continue;
            }
            let cents = rng.i64(1..=3_000);
            let amount = format!("{}.{:02}", cents / 100, cents % 100);
            let (from, to) = (&accounts[debit], &accounts[credit]);
            if rng.u8(..4) == 0 {
                let held = told(async || books.hold(&key, from, to, &amount).await).await;
                if held.status == 201 {
                    let path = format!("{HOLDS}/{}/capture", text(&held.body, "holdId"));
                    let body = json!({"amount": amount});
                    let capture = async || books.operator.post_once(&path, &format!("c-{key}"), &body).await;
                    let captured = told(capture).await;
                    assert_eq!(captured.status, 201, "{}", captured.body);
                    changes.push((format!("c-{key}"), debit, credit, cents, captured));
                } else {
                    assert_eq!(held.status, 409, "{}", held.body);
                }
                continue;
            }
            let paid = told(async || books.pay(&key, from, to, &amount).await).await;
            assert!([201, 409].contains(&paid.status), "{}", paid.body);
            changes.push((key.clone(), debit, credit, cents, paid.clone()));
            if paid.status == 201 && rng.u8(..5) == 0 {
                let again = told(async || books.pay(&key, from, to, &amount).await).await;
                let id = |answer: &Answer| answer.body["transactionId"].clone();
                assert_eq!((again.status, id(&again)), (paid.status, id(&paid)), "{key}");
            }
        }
        changes
    });
    let changes: Vec<_> = join_all(customers).await.concat();
    check_injected(&books.stack);
    books.stack.set_calm(true);
    let shop = format!("/ledger/accounts/{}", accounts[4]);
    until(&books.operator, &shop, |answer| answer.body["pending"] == "0.00").await;
    drained(&books.operator, "react-to-transactions").await;
    let stored = Stored::read(&books.stack).await;
    stored.check();
    let mut balances = [10_000, 10_000, 10_000, 10_000, 0];
    for (key, debit, credit, cents, answer) in &changes {
        let found = stored.under(key);
        let is_done = answer.status == 201;
        assert_eq!(found.len(), usize::from(is_done), "{key}: {}", answer.body);
        if is_done {
            assert_eq!(json!(found[0].id), answer.body["transactionId"], "{key}");
            balances[*debit] -= cents;
            balances[*credit] += cents;
        }
    }
    for (account, balance) in accounts.iter().zip(balances) {
        assert_eq!(cents(&books.balance(account).await), balance, "{account}");
    }
    let posted = stored.transactions.len();
    let done = changes.iter().filter(|(.., answer)| answer.status == 201).count();
    assert_eq!(posted, done + 4, "only the acknowledged transactions, and four to fund the accounts");
    // Each transaction has a checking account, and is counted once for this account type.
    let totals = totals(&books.stack).await.into_iter();
    let checking = totals.filter(|(name, _)| name.starts_with("ALL ") && name.contains(" checking "));
    let counted: i64 = checking.map(|(_, sums)| sums.2).sum();
    assert_eq!(usize::try_from(counted), Ok(posted), "each transaction is counted once");
    books.stack.stop().await;
}

async fn bank_pays_each_payment_once(seed: u64) {
    let (books, accounts) = books(seed).await;
    let now = Timestamp::now();
    let time = (now - SignedDuration::from_mins(1)).round(jiff::Unit::Second).expect("a time");
    books.stack.set_calm(false);
    let paths = (0..40).map(async |number: u32| {
        let body = json!({"scheduledTime": (time + SignedDuration::from_secs(i64::from(number % 5) * 60)).to_string(),
            "data": {"creditAccountId": accounts[4], "amount": format!("1.{number:02}"), "currency": "USD"}});
        let path = format!("/bank/accounts/{}/payments", accounts[number as usize % 4]);
        let scheduled = told(async || books.operator.post_once(&path, &format!("p-{number}"), &body).await).await;
        assert_eq!(scheduled.status, 201, "{}", scheduled.body);
        format!("{path}/{}", text(&scheduled.body, "paymentId"))
    });
    let paths = join_all(paths).await;
    assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), 40, "each payment has its id");
    let later = (now + SignedDuration::from_mins(10)).to_string();
    let event = json!({"detail-type": "Scheduled Event", "time": later});
    for _ in 0..4 {
        let dispatch = (0..2).map(|_| books.operator.invoke("dispatch-due-payments", &event));
        join_all(dispatch).await;
        sleep(PAUSE).await;
    }
    check_injected(&books.stack);
    books.stack.set_calm(true);
    // The dispatch repeats attempts whose outcome is unknown, an hour later.
    let hours = (1..=6).map(|hours| (now + SignedDuration::from_hours(hours)).to_string());
    for time in hours {
        let event = json!({"detail-type": "Scheduled Event", "time": time});
        books.operator.invoke("dispatch-due-payments", &event).await;
        drained(&books.operator, "execute-payment").await;
    }
    let mut transactions = BTreeSet::new();
    for path in &paths {
        let paid = until(&books.operator, path, |answer| answer.body["status"] != "SCHEDULED").await;
        assert_eq!(paid.body["status"], "PROCESSED", "{}", paid.body);
        assert!(transactions.insert(text(&paid.body, "transactionId").to_owned()), "{}", paid.body);
    }
    drained(&books.operator, "react-to-transactions").await;
    until(&books.operator, &format!("/ledger/accounts/{}", accounts[4]), |answer| answer.body["pending"] == "0.00")
        .await;
    let stored = Stored::read(&books.stack).await;
    stored.check();
    assert_eq!(stored.transactions.len(), 44, "40 payments, and four transactions to fund the accounts");
    let sum = (0..40).map(|number| 100 + number).sum::<i64>();
    assert_eq!(cents(&books.balance(&accounts[4]).await), sum);
    books.stack.stop().await;
}

async fn wellness_enrols_and_awards_once(seed: u64) {
    const COMPANY: &str = "C";
    let stack = hostile(seed).start().await.expect("a stack");
    let (operator, admin) = (Client::operator(&stack), admin(&stack, COMPANY));
    let users: Vec<String> = (0..20).map(|number| format!("u-{number}")).collect();
    let hire = async |user: &String| {
        let body = json!({"role": "EmployeeOnPlan", "department": "Sales"});
        let hired = told(async || admin.put(&of_company(COMPANY, &format!("employees/{user}")), &body).await).await;
        assert!([200, 201].contains(&hired.status), "{}", hired.body);
    };
    let half = users.len() / 2;
    join_all(users[..half].iter().map(hire)).await;
    let mut body = challenge("Walk", "2099-12-31T23:59:59");
    body["rewards"] = json!([{"kind": "Goal", "name": "Points", "amount": 40}]);
    body.as_object_mut().expect("an object").remove("groups");
    let path = of_company(COMPANY, "activities");
    let created = told(async || admin.post_once(&path, "walk", &body).await).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let walk = text(&created.body, "activityId").to_owned();
    join_all(users[half..].iter().map(hire)).await;
    let progress = stream::iter(&users).map(async |user: &String| {
        let path = registration_of(COMPANY, user, &walk);
        let list = format!("{}&year=2099", registrations_of(COMPANY, user));
        until(&admin, &list, |answer| answer.body.to_string().contains(&walk)).await;
        for reached in [30, 100, 100] {
            let report = async || admin.patch(&path, &json!({"progress": reached})).await;
            let reported = told(report).await;
            assert_eq!(reported.status, 200, "{user}: {}", reported.body);
        }
    });
    progress.buffer_unordered(8).collect::<Vec<_>>().await;
    check_injected(&stack);
    stack.set_calm(true);
    let streams = operator.get("/_local/streams").await.body;
    for mapping in streams["mappings"].as_array().expect("mappings") {
        drained(&operator, text(mapping, "function")).await;
    }
    for user in &users {
        let path = format!("/wellness/users/{user}/points?companyId={COMPANY}&year=2099");
        let points =
            until(&admin, &path, |answer| answer.body["items"].as_array().is_some_and(|items| !items.is_empty())).await;
        assert_eq!(
            (&points.body["total"], points.body["items"].as_array().map(Vec::len)),
            (&json!(40), Some(1)),
            "{}",
            points.body
        );
        let registrations = admin.get(&format!("{}&year=2099", registrations_of(COMPANY, user))).await;
        assert_eq!(registrations.body["items"].as_array().map(Vec::len), Some(1), "{}", registrations.body);
    }
    stack.stop().await;
}
