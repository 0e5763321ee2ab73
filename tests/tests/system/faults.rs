//! Customers pay while the local stack injects the faults of AWS (docs/hostile.md). At the end,
//! every acknowledged request has its effect once, and everything else has none. The simulation
//! plays all services under these faults (docs/simulation.md).

use futures::future::join_all;
use hostile::Rates;
use local::{Builder, Stack};
use serde_json::json;
use std::time::Duration;
use system_tests::{
    Answer, drained,
    ledger::{Books, HOLDS, model::Stored, totals::totals},
    stack, text, until,
};
use tokio::time::sleep;

/// Rates at which a request meets several faults. A frozen function would only take long.
const RATES: &str = "error=0.02,lost-before=0.02,lost-after=0.02,late=0.01,slow=0.02,stuck=0.002,throttle=0.02,\
    conflict=0.02,kill=0.01,freeze=0,twice=0.2,rewind=0.2,stale=0.7,lag=0.7";
const MAX_TRIES: usize = 200;
const PAUSE: Duration = Duration::from_millis(20);

/// A stack with faults. The environment variable `HOSTILE_SEED` replaces the seed.
fn hostile() -> Builder {
    let seed = std::env::var("HOSTILE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
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

/// Books with four accounts of 100 dollars and one with grouped posting. The faults start after
/// they are opened.
async fn books() -> (Books, Vec<String>) {
    let stack = hostile().start().await.expect("a stack");
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

#[tokio::test(flavor = "multi_thread")]
async fn ledger_neither_loses_nor_doubles_money() {
    let (books, accounts) = books().await;
    books.stack.set_calm(false);
    let customers = (0..8).map(async |customer: usize| {
        let mut rng = fastrand::Rng::with_seed(customer as u64);
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
    // The faults may have exhausted the retries of the settlement. The next payment starts another
    // one.
    let late = books.funded("late", "1.00").await;
    assert_eq!(books.pay("late", &late, &accounts[4], "0.01").await.status, 201);
    let shop = format!("/ledger/accounts/{}", accounts[4]);
    until(&books.operator, &shop, |answer| answer.body["pending"] == "0.00").await;
    drained(&books.operator, "react-to-transactions").await;
    let stored = Stored::read(&books.stack).await;
    stored.check();
    let mut balances = [10_000, 10_000, 10_000, 10_000, 1];
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
    assert_eq!(posted, done + 6, "only the acknowledged transactions, five to fund the accounts, and the late one");
    // Each transaction has a checking account, and is counted once for this account type.
    let totals = totals(&books.stack).await.into_iter();
    let checking = totals.filter(|(name, _)| name.starts_with("ALL ") && name.contains(" checking "));
    let counted: i64 = checking.map(|(_, sums)| sums.2).sum();
    assert_eq!(usize::try_from(counted), Ok(posted), "each transaction is counted once");
    books.stack.stop().await;
}
