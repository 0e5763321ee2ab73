//! Tests of concurrent requests to the ledger, and of the order of their times.

use function::Service;
use futures::future::{join, join_all};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use system_tests::{
    Answer, Asks,
    faults::{service, within},
    ledger::model::{Stored, answer, posting, until_told},
    ledger::{Books, TRANSACTIONS, id, payment},
};

const TIME: Duration = Duration::from_mins(5);

fn now() -> Timestamp {
    "2099-11-30T12:00:00.123Z".parse().expect("a time")
}

/// Counts the responses by status and problem type.
fn kinds<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for answer in answers {
        let problem = answer.body["type"].as_str().unwrap_or_default().trim_start_matches("/problems/");
        *kinds.entry(format!("{} {problem}", answer.status).trim_end().to_owned()).or_default() += 1;
    }
    kinds
}

fn expected<const N: usize>(kinds: [(&str, usize); N]) -> BTreeMap<String, usize> {
    kinds.map(|(kind, count)| (kind.to_owned(), count)).into()
}

/// A ledger and its functions. The functions have no timeout, so the results do not depend on the
/// speed of the machine.
struct Desk {
    books: Books,
    services: BTreeMap<&'static str, Service>,
}

impl Desk {
    async fn open() -> Self {
        let books = Books::open().await;
        let stack = &books.stack;
        let service = |pattern: ledger::Pattern| {
            (pattern.name, service(stack, stack.dynamo_url(), pattern.name, &(pattern.function)()))
        };
        let services = ledger::patterns().into_iter().map(service).collect();
        Self { books, services }
    }

    /// Sends the event until its outcome is known.
    async fn ask(&self, function: &str, event: &Value) -> Answer {
        until_told(async || {
            let invocation = self.services[function].call(event.clone(), within(TIME)).await;
            answer(&invocation.answer.expect("an answer"))
        })
        .await
    }

    async fn post(&self, key: &str, body: &Value) -> Answer {
        self.ask("process-payment", &posting(key, body, now())).await
    }

    async fn pay(&self, key: &str, debit: &str, credit: &str, amount: &str) -> Answer {
        self.post(key, &payment(debit, credit, amount)).await
    }

    /// Opens an account and funds it.
    async fn funded(&self, user: &str, amount: &str) -> String {
        let account = self.books.account(user).await;
        let funded = self.pay(&format!("fund-{account}"), &self.books.outside, &account, amount).await;
        assert_eq!(funded.status, 201, "{}", funded.body);
        account
    }

    async fn set(&self, account: &str, status: &str) -> Answer {
        let (path, body) = (format!("/ledger/accounts/{account}"), json!({"status": status}));
        let (route, parameters) = ("PATCH /ledger/accounts/{accountId}", json!({"accountId": account}));
        let event = Asks { route, path: &path, parameters, key: None, body: Some(&body) }.at(now());
        self.ask("update-account", &event).await
    }

    async fn reverse(&self, transaction: &str, key: Option<&str>) -> Answer {
        let path = format!("{TRANSACTIONS}/{transaction}/reversal");
        let route = "POST /ledger/transactions/{transactionId}/reversal";
        let parameters = json!({"transactionId": transaction});
        let event = Asks { route, path: &path, parameters, key, body: None }.at(now());
        self.ask("reverse-transaction", &event).await
    }

    /// Reads the table and checks its invariants.
    async fn stored(&self) -> Stored {
        let stored = Stored::read(&self.books.stack).await;
        stored.check();
        stored
    }

    /// Reads the statement of an account, and checks that it lists the account's legs, newest
    /// first.
    async fn statement(&self, account: &str) -> Vec<Value> {
        let stored = self.stored().await;
        let (items, _) = self.books.operator.all(&format!("/ledger/accounts/{account}/statement?limit=7")).await;
        let told: Vec<_> = items.iter().map(|leg| (leg["legId"].clone(), leg["createdAt"].clone())).collect();
        let legs = stored.legs_of(account);
        let right: Vec<_> = legs.iter().rev().map(|leg| (json!(leg.id), json!(leg.created_at))).collect();
        assert_eq!(told, right, "the statement of {account}");
        items
    }
}

fn leg(kind: &str, account: &str, amount: &str) -> Value {
    json!({"accountId": account, "legType": kind, "amount": amount, "currency": "USD"})
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_of_two_different_requests_with_one_key_is_posted() {
    let desk = Desk::open().await;
    let (from, to) = (desk.funded("ann", "500.00").await, desk.books.account("bob").await);
    let pairs = join_all((0..20).map(async |number| {
        let key = format!("K-{number}");
        let both = ["1.00", "2.00"].map(|amount| desk.pay(&key, &from, &to, amount));
        let answers = join_all(both).await;
        assert_eq!(kinds(&answers), expected([("201", 1), ("422 idempotency-key-reused", 1)]), "{answers:#?}");
        (key, answers)
    }))
    .await;
    let stored = desk.stored().await;
    for (key, first) in pairs {
        assert_eq!(stored.under(&key).len(), 1, "{key}");
        for (amount, first) in ["1.00", "2.00"].into_iter().zip(first) {
            let again = desk.pay(&key, &from, &to, amount).await;
            assert_eq!((again.status, kinds([&again])), (first.status, kinds([&first])));
            assert!(first.status == 422 || again.body == first.body, "{first:?} and {again:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn debits_succeed_until_the_balance_is_spent() {
    for receivers in [1, 10] {
        let desk = Desk::open().await;
        let from = desk.funded("ann", "500.00").await;
        let to = join_all((0..receivers).map(|_| desk.books.account("bob"))).await;
        let debits = (0..100).map(|number| {
            let receiver = &to[number % receivers];
            let (desk, from) = (&desk, &from);
            async move { desk.pay(&format!("K-{number}"), from, receiver, "10.00").await }
        });
        let answers = join_all(debits).await;
        assert_eq!(kinds(&answers), expected([("201", 50), ("409 insufficient-funds", 50)]));
        let stored = desk.stored().await;
        for (number, answer) in answers.iter().enumerate() {
            let done = stored.under(&format!("K-{number}")).len();
            assert_eq!(done, usize::from(answer.status == 201), "K-{number}: {answer:?}");
        }
        assert_eq!(desk.books.balance(&from).await, "0.00");
        assert_eq!(stored.legs_of(&from).len(), 51, "one deposit and fifty payments");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_payment_succeeds_after_a_freeze() {
    let desk = Desk::open().await;
    for round in 0..5 {
        let (from, to) = (desk.funded("ann", "100.00").await, desk.books.account("bob").await);
        let (frozen, receives) = if round % 2 == 0 { (&from, false) } else { (&to, true) };
        let payments = (0..8).map(async |number| desk.pay(&format!("K-{round}-{number}"), &from, &to, "1.00").await);
        let freeze = async {
            let freeze = desk.set(frozen, "frozen").await;
            let later = desk.pay(&format!("L-{round}"), &from, &to, "1.00").await;
            (freeze, later)
        };
        let (paid, (freeze, later)) = join(join_all(payments), freeze).await;
        assert_eq!((freeze.status, &freeze.body["status"]), (200, &json!("frozen")));
        assert_eq!(kinds([&later]), expected([("409 account-frozen", 1)]), "receives: {receives}");
        let done = paid.iter().filter(|answer| answer.status == 201).count();
        let refused = paid.iter().filter(|answer| answer.body["type"] == "/problems/account-frozen").count();
        assert_eq!((paid.len(), done), (done + refused, desk.stored().await.legs_of(&to).len()), "{paid:#?}");
        assert_eq!(desk.set(frozen, "active").await.status, 200);
        assert_eq!(desk.pay(&format!("L-{round}"), &from, &to, "1.00").await.status, 201, "the key was not consumed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transaction_times_of_an_account_increase_even_if_clocks_go_back() {
    let desk = Desk::open().await;
    let (from, to) = (desk.books.account("ann").await, desk.books.account("bob").await);
    let body = |debit: &str, credit: &str| payment(debit, credit, "10.00");
    let times = [0, 0, -3_600_000, 1, -1, 60_000, 59_999, 60_001];
    let mut applied = Vec::new();
    for (number, offset) in times.into_iter().enumerate() {
        let at = now() + SignedDuration::from_millis(offset);
        let body = if number < 4 { body(&desk.books.outside, &from) } else { body(&from, &to) };
        let answer = desk.ask("process-payment", &posting(&format!("K-{number}"), &body, at)).await;
        applied.push(id(&answer, "transactionId"));
    }
    let statement = desk.statement(&from).await;
    let listed: Vec<_> = statement.iter().rev().map(|leg| leg["transactionId"].clone()).collect();
    assert_eq!(listed, applied, "the statement must be in the order of application");
    let millis: Vec<_> = statement.iter().rev().map(|leg| leg["createdAt"].as_str().expect("a time")).collect();
    let right = ["00.123", "00.124", "00.125", "00.126", "00.127"].map(|second| format!("2099-11-30T12:00:{second}Z"));
    assert_eq!(millis[..5], right, "each time must be later than the one before");
    // Concurrent requests with different clocks.
    let answers = join_all((0..30_i32).map(async |number| {
        let at = now() + SignedDuration::from_millis(i64::from(number % 7) * 1_000 - 3_000);
        let event = posting(&format!("L-{number}"), &payment(&desk.books.outside, &from, "1.00"), at);
        desk.ask("process-payment", &event).await
    }))
    .await;
    assert_eq!(kinds(&answers), expected([("201", 30)]));
    desk.stored().await;
}

/// A transaction with several legs on one account stores the balance after each leg.
#[tokio::test(flavor = "multi_thread")]
async fn several_legs_on_one_account_update_it_once() {
    let desk = Desk::open().await;
    let (a, b) = (desk.funded("ann", "10.00").await, desk.books.account("bob").await);
    let version = |stored: &Stored, id: &str| stored.account(id).version;
    let before = desk.stored().await;
    let plan = [
        ("credit", &b, "3.00", "3.00"),
        ("debit", &a, "4.00", "6.00"),
        ("debit", &a, "1.50", "4.50"),
        ("credit", &b, "0.50", "3.50"),
        ("debit", &a, "4.50", "0.00"),
        ("credit", &b, "6.50", "10.00"),
    ];
    let legs: Vec<_> = plan.iter().map(|(kind, account, amount, _)| leg(kind, account, amount)).collect();
    let body = json!({"legs": legs});
    let answers = join_all((0..10).map(|_| desk.post("K", &body))).await;
    assert_eq!(kinds(&answers), expected([("201", 10)]));
    assert!(answers.iter().all(|answer| answer.body == answers[0].body), "{answers:#?}");
    let legs = answers[0].body["legs"].as_array().expect("legs");
    let told: Vec<_> = legs.iter().map(|leg| (&leg["accountId"], &leg["balanceAfter"])).collect();
    let right: Vec<_> = plan.iter().map(|(_, account, _, after)| (json!(account), json!(after))).collect();
    assert_eq!(told, right.iter().map(|(account, after)| (account, after)).collect::<Vec<_>>());
    let after = desk.stored().await;
    for account in [&a, &b] {
        assert_eq!(version(&after, account), version(&before, account) + 1);
        let of_account = |leg: &&Value| leg["accountId"] == **account;
        let ids: Vec<_> = legs.iter().filter(of_account).map(|leg| leg["legId"].clone()).rev().collect();
        let listed: Vec<_> = desk.statement(account).await.iter().map(|leg| leg["legId"].clone()).collect();
        assert_eq!(listed[..3], ids[..], "the statement must have the legs in order");
    }
    let reversal = desk.reverse(answers[0].body["transactionId"].as_str().expect("an id"), None).await;
    assert_eq!(reversal.status, 201, "{}", reversal.body);
    assert_eq!((desk.books.balance(&a).await, desk.books.balance(&b).await), ("10.00".into(), "0.00".into()));
    desk.stored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_and_reverses_the_largest_transaction_atomically() {
    let desk = Desk::open().await;
    let from = desk.funded("ann", "48.00").await;
    let to = join_all((0..48).map(|_| desk.books.account("bob"))).await;
    let mut legs = vec![leg("debit", &from, "48.00")];
    legs.extend(to.iter().map(|account| leg("credit", account, "1.00")));
    let paid = desk.post("K", &json!({"legs": legs})).await;
    let transaction = id(&paid, "transactionId");
    let (first, last) = join(desk.reverse(&transaction, None), desk.reverse(&transaction, None)).await;
    assert_eq!((first.status, &first.body), (201, &last.body));
    let stored = desk.stored().await;
    assert_eq!(desk.books.balance(&from).await, "48.00");
    assert!(to.iter().all(|account| stored.account(account).version == 3 && stored.legs_of(account).len() == 2));
}
