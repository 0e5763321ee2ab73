//! A caller learns nothing about the accounts of other users from a rejected request
//! ([requirement](../../../../docs/requirements/ledger.md#permissions),
//! [decision](../../../../docs/decisions/ledger-accounts.md)). All rejections of a request must be
//! equal, whatever the state of the other user's account is.

use serde_json::{Value, json};
use system_tests::{
    Answer, Client, assert_problem,
    ledger::audit::{Rows, account_key},
    ledger::{ACCOUNTS, BATCH, Books, HOLDS, TRANSACTIONS, batch, hold, id, legs, payment},
    send,
};

/// An id that nobody has.
const NOBODY: &str = "880h1733";

/// An account of Bob, a payment from it to Ann, and a payment from the bank to it.
struct Foreign {
    state: String,
    account: String,
    paid: String,
    funded: String,
}

impl Foreign {
    /// Opens an account of Bob, with payments to and from it.
    async fn used(books: &Books, state: &str, full: &str) -> Self {
        let account = books.account("bob").await;
        let funded = books.pay(&format!("funds {state}"), &books.outside, &account, "1.00").await;
        let paid = books.pay(&format!("paid {state}"), &account, full, "1.00").await;
        let [funded, paid] = [funded, paid].map(|answer| id(&answer, "transactionId"));
        Self { state: state.to_owned(), account, paid, funded }
    }
}

/// Ann's accounts, and Bob's accounts in each state. Bob has an unreadable account for each
/// attribute of an account.
struct Scene {
    books: Books,
    ann: Client,
    full: String,
    frozen: String,
    foreign: Vec<Foreign>,
}

impl Scene {
    async fn start() -> Self {
        let books = Books::open().await;
        let (full, frozen) = (books.funded("ann", "100.00").await, books.funded("ann", "100.00").await);
        let mut foreign = Vec::new();
        for state in ["active", "frozen", "frozen by its owner", "closed"] {
            let used = Foreign::used(&books, state, &full).await;
            let client = if state == "frozen by its owner" { &books.user("bob") } else { &books.operator };
            let status = json!({"status": state.split(' ').next()});
            assert_eq!(client.patch(&format!("{ACCOUNTS}/{}", used.account), &status).await.status, 200, "{state}");
            foreign.push(used);
        }
        let yen = json!({"userId": "bob", "accountType": "checking", "currency": "JPY"});
        let yen = id(&books.operator.post(ACCOUNTS, &yen).await, "accountId");
        for (state, account) in [("other currency", yen), ("missing", NOBODY.to_owned())] {
            let [paid, funded] = [NOBODY, NOBODY].map(str::to_owned);
            foreign.push(Foreign { state: state.to_owned(), account, paid, funded });
        }
        let rows = Rows::of(&books.stack);
        let item = rows.get(&account_key(&full)).await;
        let names = item.as_object().expect("an item").keys();
        for name in names.filter(|name| !["PK", "SK", "Type"].contains(&name.as_str()) && !name.starts_with("GSI")) {
            let used = Foreign::used(&books, &format!("unreadable {name}"), &full).await;
            // The balance is a number that is not valid for the currency.
            let damage = if name == "Balance" { json!({"N": "1.005"}) } else { json!({"L": []}) };
            rows.set(&account_key(&used.account), json!({name: damage})).await;
            foreign.push(used);
        }
        let freeze = json!({"status": "frozen"});
        assert_eq!(books.operator.patch(&format!("{ACCOUNTS}/{frozen}"), &freeze).await.status, 200);
        Self { ann: books.user("ann"), books, full, frozen, foreign }
    }

    /// Returns Ann's requests that involve the account of Bob: method, path and body.
    fn requests(&self, foreign: &Foreign) -> Vec<(&'static str, String, Value)> {
        let (account, full) = (foreign.account.as_str(), self.full.as_str());
        let path = format!("{ACCOUNTS}/{account}");
        let reads = ["", "/balance", "/balance?at=2020-01-01T00:00:00Z", "/statement"];
        let mut asked: Vec<_> = reads.iter().map(|rest| ("GET", format!("{path}{rest}"), Value::Null)).collect();
        for status in ["active", "frozen", "closed"] {
            asked.push(("PATCH", path.clone(), json!({"status": status})));
            asked.push(("PATCH", path.clone(), json!({"status": status, "version": 1})));
        }
        asked.push(("PATCH", path, json!({"status": "closed", "transferTo": full})));
        asked.push(("PATCH", format!("{ACCOUNTS}/{full}"), json!({"status": "closed", "transferTo": account})));
        asked.push(("GET", format!("{TRANSACTIONS}/{}", foreign.funded), Value::Null));
        asked.push(("POST", format!("{TRANSACTIONS}/{}/reversal", foreign.funded), json!({})));
        for (number, body) in self.payments(account).into_iter().enumerate() {
            asked.push(("POST", TRANSACTIONS.to_owned(), body.clone()));
            let key = format!("batch {number} {}", foreign.state);
            asked.push(("POST", BATCH.to_owned(), batch([(key.as_str(), body)])));
        }
        let holds = [
            hold(full, account, "0.01"),
            with(hold(full, account, "0.01"), "currency", "EUR"),
            hold(full, account, "9999999.00"),
            hold(&self.frozen, account, "0.01"),
            hold(account, full, "0.01"),
            hold("880h1734", account, "0.01"),
        ];
        asked.extend(holds.map(|body| ("POST", HOLDS.to_owned(), body)));
        let paid = Some(&foreign.paid).filter(|paid| *paid != NOBODY);
        asked.extend(paid.map(|paid| ("POST", format!("{TRANSACTIONS}/{paid}/reversal"), json!({}))));
        asked
    }

    /// Returns transactions that credit or debit the account. Some of them can never be posted, so
    /// they cost the caller nothing.
    fn payments(&self, account: &str) -> [Value; 11] {
        let (full, frozen) = (self.full.as_str(), self.frozen.as_str());
        let (cent, debit) = (payment(full, account, "0.01"), payment(account, full, "0.01"));
        let credit = ("credit", account, "0.01", "USD");
        let split = |other: &str| legs([credit, ("debit", full, "0.02", "USD"), ("credit", other, "0.01", "USD")]);
        [
            cent.clone(),
            with(cent.clone(), "merchantId", NOBODY),
            with(cent, "currency", "EUR"),
            payment(full, account, "9999999.00"),
            payment(frozen, account, "0.01"),
            debit.clone(),
            with(debit, "merchantId", NOBODY),
            payment("880h1734", account, "0.01"),
            legs([credit, ("debit", full, "0.01", "USD")]),
            split(frozen),
            split("880h1734"),
        ]
    }
}

fn with(mut body: Value, name: &str, value: &str) -> Value {
    body[name] = value.into();
    body
}

/// Returns the status and the body without the account id and the request id. For a batch, these
/// are the status and the problem of its only transaction.
fn masked(mut answer: Answer, account: &str) -> (u64, String) {
    let result = answer.body.pointer_mut("/results/0").map(Value::take).unwrap_or_default();
    let (status, mut body) = match result["status"].as_u64() {
        Some(status) => (status, result["problem"].clone()),
        None => (answer.status.into(), answer.body),
    };
    body["instance"].take();
    (status, body.to_string().replace(account, "<account>"))
}

#[tokio::test]
async fn rejections_do_not_depend_on_the_state_of_another_users_account() {
    let scene = Scene::start().await;
    for number in 0..scene.requests(&scene.foreign[0]).len() {
        let mut rejections = Vec::new();
        for foreign in &scene.foreign {
            let Some((method, path, body)) = scene.requests(foreign).into_iter().nth(number) else { continue };
            let request =
                scene.ann.request(method, &path).header("idempotency-key", format!("{number} {}", foreign.state));
            let answer = send(if body.is_null() { request } else { request.json(&body) }).await;
            let answer = masked(answer, &foreign.account);
            if answer.0 >= 300 {
                rejections.push((method, path, body, answer));
            }
        }
        assert!(rejections.len() >= 3, "{number}: {rejections:?}");
        assert!(rejections.iter().all(|other| other.3 == rejections[0].3), "{number}: {rejections:#?}");
    }
    scene.books.stack.stop().await;
}

/// The owner and operators get the exact problem.
#[tokio::test]
async fn owners_and_operators_get_the_exact_problem() {
    let scene = Scene::start().await;
    let (bob, operator) = (scene.books.user("bob"), &scene.books.operator);
    let bobs = scene.books.funded("bob", "10.00").await;
    for (state, of_bob, of_operator) in [
        ("active", "201 ", "201 "),
        ("frozen", "409 account-frozen", "409 account-frozen"),
        ("frozen by its owner", "409 account-frozen", "409 account-frozen"),
        ("closed", "409 account-closed", "409 account-closed"),
        ("other currency", "409 currency-mismatch", "409 currency-mismatch"),
        ("missing", "409 account-unavailable", "404 not-found"),
    ] {
        let foreign = scene.foreign.iter().find(|foreign| foreign.state == state).expect("an account");
        let body = payment(&bobs, &foreign.account, "0.01");
        for (client, wanted) in [(&bob, of_bob), (operator, of_operator)] {
            let answer = client.post_once(TRANSACTIONS, &format!("exact {state}"), &body).await;
            let kind = answer.body["type"].as_str().unwrap_or_default().trim_start_matches("/problems/");
            assert_eq!(format!("{} {kind}", answer.status), wanted, "{state}: {}", answer.body);
        }
    }
    // If a balance is too low or too large, the error does not disclose it.
    let most = payment(&scene.books.outside, &bobs, &format!("{}.99", "9".repeat(36)));
    for (client, body, problem) in [
        (&bob, payment(&bobs, &scene.full, "99999.99"), "insufficient-funds"),
        (operator, payment(&bobs, &scene.full, "99999.99"), "insufficient-funds"),
        (operator, most, "balance-too-large"),
    ] {
        let refused = client.post_once(TRANSACTIONS, problem, &body).await;
        assert_problem(&refused, 409, problem);
        assert!(!refused.body["detail"].to_string().contains("9.98"), "{}", refused.body);
    }
    assert_eq!(scene.books.balance(&bobs).await, "9.98");
    scene.books.stack.stop().await;
}

/// The owner of an unreadable account and operators get 500, because the account needs a repair.
/// If the owner is unreadable, only operators do.
#[tokio::test]
async fn only_the_owner_and_operators_learn_that_an_account_is_unreadable() {
    let scene = Scene::start().await;
    let bob = scene.books.user("bob");
    let bobs = scene.books.funded("bob", "10.00").await;
    let unreadable: Vec<_> = scene.foreign.iter().filter(|foreign| foreign.state.starts_with("unreadable")).collect();
    assert!(unreadable.len() >= 12, "{}", unreadable.len());
    let before = scene.books.stored().await;
    for Foreign { state, account, .. } in unreadable {
        for (client, is_operator) in [(&bob, false), (&scene.books.operator, true)] {
            let is_known = is_operator || state != "unreadable UserID";
            let path = format!("{ACCOUNTS}/{account}");
            let close = json!({"status": "closed", "transferTo": account});
            let answers = [
                (client.post_once(TRANSACTIONS, "credit", &payment(&bobs, account, "0.01")).await, 409),
                (client.post_once(TRANSACTIONS, "debit", &payment(account, &bobs, "0.01")).await, 403),
                (client.get(&path).await, 403),
                (client.patch(&path, &json!({"status": "frozen"})).await, 403),
                (client.patch(&format!("{ACCOUNTS}/{bobs}"), &close).await, 409),
            ];
            for (number, (answer, hidden)) in answers.iter().enumerate() {
                let wanted = if is_known { 500 } else { *hidden };
                assert_eq!(answer.status, wanted, "{state} {number}: {}", answer.body);
            }
        }
    }
    assert!(scene.books.stored().await == before, "nothing is written");
    scene.books.stack.stop().await;
}
