//! A caller learns nothing about the accounts of other users from a rejected request
//! ([decision](../../../../docs/decisions/ledger-access.md)). Each route is requested with another
//! user's account in each state. All rejections of the same request must be equal.

use ledger::patterns;
use serde_json::{Value, json};
use system_tests::{
    Answer, Client,
    ledger::audit::{Rows, account_key},
    ledger::{ACCOUNTS, BATCH, Books, HOLDS, TRANSACTIONS, batch, hold, id, legs, payment},
    send,
};

/// An account of Bob, and transactions on it that were posted before its state changed.
struct Foreign {
    state: String,
    account: String,
    /// A payment from the account to Ann.
    paid: Option<String>,
    /// A payment from the bank to the account.
    funded: Option<String>,
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
            let account = books.account("bob").await;
            let funded = books.pay(&format!("funds {state}"), &books.outside, &account, "1.00").await;
            let funded = id(&funded, "transactionId");
            let paid = id(&books.pay(&format!("paid {state}"), &account, &full, "1.00").await, "transactionId");
            let client = if state == "frozen by its owner" { &books.user("bob") } else { &books.operator };
            let status = state.split(' ').next().expect("a status");
            let changed = client.patch(&format!("{ACCOUNTS}/{account}"), &json!({"status": status})).await;
            assert_eq!(changed.status, 200, "{}", changed.body);
            foreign.push(Foreign { state: state.to_owned(), account, paid: Some(paid), funded: Some(funded) });
        }
        let yen = json!({"userId": "bob", "accountType": "checking", "currency": "JPY"});
        let yen = id(&books.operator.post(ACCOUNTS, &yen).await, "accountId");
        foreign.push(Foreign { state: "other currency".to_owned(), account: yen, paid: None, funded: None });
        foreign.push(Foreign { state: "missing".to_owned(), account: "880h1733".to_owned(), paid: None, funded: None });
        let froze = books.operator.patch(&format!("{ACCOUNTS}/{frozen}"), &json!({"status": "frozen"})).await;
        assert_eq!(froze.status, 200, "{}", froze.body);
        foreign.extend(unreadable(&books, &full).await);
        Self { ann: books.user("ann"), books, full, frozen, foreign }
    }
}

/// Opens accounts of Bob, and makes another attribute of each account unreadable.
async fn unreadable(books: &Books, full: &str) -> Vec<Foreign> {
    let rows = Rows::of(&books.stack);
    let (mut foreign, mut left) = (Vec::new(), None);
    loop {
        let account = books.funded("bob", "2.00").await;
        let funded = books.pay(&format!("funds {account}"), &books.outside, &account, "1.00").await;
        let funded = id(&funded, "transactionId");
        let paid = id(&books.pay(&format!("paid {account}"), &account, full, "1.00").await, "transactionId");
        let mut item = rows.get(&account_key(&account)).await;
        let names = left.get_or_insert_with(|| {
            let names = item.as_object().expect("an item").keys().cloned();
            names.filter(|name| !["PK", "SK", "Type"].contains(&name.as_str()) && !name.starts_with("GSI")).collect()
        });
        let names: &mut Vec<String> = names;
        let Some(name) = names.pop() else { return foreign };
        // The balance is a number that is not valid for the currency.
        item[&name] = if name == "Balance" { json!({"N": "1.005"}) } else { json!({"L": []}) };
        rows.put(&[item.to_string()]).await;
        foreign.push(Foreign { state: format!("unreadable {name}"), account, paid: Some(paid), funded: Some(funded) });
    }
}

/// A request: method, path and body.
type Asked = (&'static str, String, Value);

/// Returns Ann's requests to the route that involve the account of Bob.
fn requests(route: &str, scene: &Scene, foreign: &Foreign) -> Vec<Asked> {
    let account = &foreign.account;
    let path = format!("{ACCOUNTS}/{account}");
    match route {
        "GET /ledger/accounts/{accountId}" => vec![("GET", path, Value::Null)],
        "GET /ledger/accounts/{accountId}/balance" => vec![
            ("GET", format!("{path}/balance"), Value::Null),
            ("GET", format!("{path}/balance?at=2020-01-01T00:00:00Z"), Value::Null),
        ],
        "GET /ledger/accounts/{accountId}/statement" => vec![("GET", format!("{path}/statement"), Value::Null)],
        "PATCH /ledger/accounts/{accountId}" => changes(scene, &path, account),
        "POST /ledger/transactions" => {
            payments(scene, account).into_iter().map(|body| ("POST", TRANSACTIONS.to_owned(), body)).collect()
        }
        "POST /ledger/transactions/batch" => {
            let one = |(number, body)| {
                let key = format!("batch {number} {}", foreign.state);
                ("POST", BATCH.to_owned(), batch([(key.as_str(), body)]))
            };
            payments(scene, account).into_iter().enumerate().map(one).collect()
        }
        "GET /ledger/transactions/{transactionId}" => {
            let funded = foreign.funded.as_deref().unwrap_or("880h1733");
            vec![("GET", format!("{TRANSACTIONS}/{funded}"), Value::Null)]
        }
        "POST /ledger/transactions/{transactionId}/reversal" => {
            let funded = foreign.funded.as_deref().unwrap_or("880h1733");
            let mut asked = vec![("POST", format!("{TRANSACTIONS}/{funded}/reversal"), json!({}))];
            let paid = foreign.paid.iter().map(|paid| ("POST", format!("{TRANSACTIONS}/{paid}/reversal"), json!({})));
            asked.extend(paid);
            asked
        }
        "POST /ledger/holds" => {
            holds(scene, account).into_iter().map(|body| ("POST", HOLDS.to_owned(), body)).collect()
        }
        // These routes name no account.
        "GET /ledger/holds/{holdId}"
        | "POST /ledger/holds/{holdId}/capture"
        | "POST /ledger/holds/{holdId}/void"
        | "POST /ledger/accounts"
        | "GET /ledger/users/{userId}/accounts"
        | "GET /ledger/transactions"
        | "POST /ledger/merchants"
        | "GET /ledger/merchants"
        | "GET /ledger/merchants/{merchantId}/totals"
        | "GET /ledger/trial-balance"
        | "GET /ledger/merchants/{merchantId}"
        | "POST /ledger/reconciliations"
        | "GET /ledger/reconciliations/{reconciliationId}"
        | "POST /ledger/reconciliations/{reconciliationId}/retry" => Vec::new(),
        other => unreachable!("{other} needs requests that involve another user's account"),
    }
}

fn changes(scene: &Scene, path: &str, account: &str) -> Vec<Asked> {
    let mut bodies = Vec::new();
    for status in ["active", "frozen", "closed"] {
        bodies.extend([json!({"status": status}), json!({"status": status, "version": 1})]);
    }
    bodies.push(json!({"status": "closed", "transferTo": scene.full}));
    let mut asked: Vec<Asked> = bodies.into_iter().map(|body| ("PATCH", path.to_owned(), body)).collect();
    let own = format!("{ACCOUNTS}/{}", scene.full);
    asked.push(("PATCH", own, json!({"status": "closed", "transferTo": account})));
    asked
}

/// Returns transactions that credit or debit the account. Some of them can never be posted, so they
/// cost the caller nothing.
fn payments(scene: &Scene, account: &str) -> Vec<Value> {
    let (full, frozen) = (scene.full.as_str(), scene.frozen.as_str());
    let with = |mut body: Value, name: &str, value: &str| {
        body[name] = value.into();
        body
    };
    let cent = payment(full, account, "0.01");
    vec![
        cent.clone(),
        with(cent.clone(), "merchantId", "880h1733"),
        with(cent, "currency", "EUR"),
        payment(full, account, "9999999.00"),
        payment(frozen, account, "0.01"),
        payment(account, full, "0.01"),
        with(payment(account, full, "0.01"), "merchantId", "880h1733"),
        payment("880h1734", account, "0.01"),
        legs([("credit", account, "0.01", "USD"), ("debit", full, "0.01", "USD")]),
        legs([("credit", account, "0.01", "USD"), ("debit", full, "0.02", "USD"), ("credit", frozen, "0.01", "USD")]),
        legs([
            ("credit", account, "0.01", "USD"),
            ("debit", full, "0.02", "USD"),
            ("credit", "880h1734", "0.01", "USD"),
        ]),
    ]
}

/// Returns holds that credit or debit the account.
fn holds(scene: &Scene, account: &str) -> Vec<Value> {
    let full = scene.full.as_str();
    let mut in_euros = hold(full, account, "0.01");
    in_euros["currency"] = "EUR".into();
    vec![
        hold(full, account, "0.01"),
        in_euros,
        hold(full, account, "9999999.00"),
        hold(&scene.frozen, account, "0.01"),
        hold(account, full, "0.01"),
        hold("880h1734", account, "0.01"),
    ]
}

/// Returns the outcome of the only transaction in the response to a batch. Other responses stay as
/// they are.
fn outcome(mut answer: Answer) -> Answer {
    let result = answer.body.pointer("/results/0").cloned().unwrap_or_default();
    if let Some(status) = result["status"].as_u64() {
        answer.status = status.try_into().expect("a status");
        answer.body = result["problem"].clone();
    }
    answer
}

/// Returns the response without the account id and the request id.
fn masked(mut answer: Answer, account: &str) -> String {
    answer.body["instance"].take();
    format!("{} {}", answer.status, answer.body).replace(account, "<account>")
}

#[tokio::test]
async fn rejections_do_not_depend_on_the_state_of_another_users_account() {
    let scene = Scene::start().await;
    let routes: Vec<String> = patterns()
        .iter()
        .flat_map(|pattern| pattern.routes().iter().map(|route| format!("{} {}", route.method, route.path)))
        .collect();
    let mut compared = 0;
    for route in routes {
        let count = scene.foreign.iter().map(|foreign| requests(&route, &scene, foreign).len()).max().unwrap_or(0);
        for number in 0..count {
            let mut rejections = Vec::new();
            for foreign in &scene.foreign {
                let Some((method, path, body)) = requests(&route, &scene, foreign).into_iter().nth(number) else {
                    continue;
                };
                let key = format!("{route} {number} {}", foreign.state).replace(['{', '}'], "");
                let request = scene.ann.request(method, &path).header("idempotency-key", key);
                let answer = outcome(send(if body.is_null() { request } else { request.json(&body) }).await);
                if answer.status >= 300 {
                    rejections.push((&foreign.state, masked(answer, &foreign.account)));
                }
            }
            compared += rejections.len();
            assert!(rejections.len() >= 3, "{route} {number}: {rejections:?}");
            let (_, first) = &rejections[0];
            assert!(rejections.iter().all(|(_, other)| other == first), "{route} {number}: {rejections:#?}");
        }
    }
    assert!(compared >= 400, "{compared}");
    scene.books.stack.stop().await;
}

/// The owner and operators get the exact problem.
#[tokio::test]
async fn owners_and_operators_get_the_exact_problem() {
    let scene = Scene::start().await;
    let bob = scene.books.user("bob");
    let bobs = scene.books.funded("bob", "10.00").await;
    let exact = [
        ("frozen", "409 account-frozen"),
        ("frozen by its owner", "409 account-frozen"),
        ("closed", "409 account-closed"),
        ("other currency", "409 currency-mismatch"),
    ];
    let kind = |answer: &Answer| {
        let kind = answer.body["type"].as_str().unwrap_or_default().trim_start_matches("/problems/");
        format!("{} {kind}", answer.status)
    };
    for foreign in scene.foreign.iter().filter(|foreign| !foreign.state.starts_with("unreadable")) {
        let body = payment(&bobs, &foreign.account, "0.01");
        let wanted = exact.iter().find(|(state, _)| *state == foreign.state).map(|(_, problem)| *problem);
        for (client, missing) in [(&bob, "409 account-unavailable"), (&scene.books.operator, "404 not-found")] {
            let wanted = match foreign.state.as_str() {
                "active" => "201 ",
                "missing" => missing,
                _ => wanted.expect("a problem"),
            };
            let answer = client.post_once(TRANSACTIONS, &format!("exact {}", foreign.state), &body).await;
            assert_eq!(kind(&answer), wanted, "{}: {}", foreign.state, answer.body);
        }
    }
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
    for foreign in unreadable {
        for (client, is_operator) in [(&bob, false), (&scene.books.operator, true)] {
            let is_known = is_operator || foreign.state != "unreadable UserID";
            let credit = payment(&bobs, &foreign.account, "0.01");
            let debit = payment(&foreign.account, &bobs, "0.01");
            let close = json!({"status": "closed", "transferTo": foreign.account});
            let path = format!("{ACCOUNTS}/{}", foreign.account);
            let answers = [
                (client.post_once(TRANSACTIONS, "credit", &credit).await, 409),
                (client.post_once(TRANSACTIONS, "debit", &debit).await, 403),
                (client.get(&path).await, 403),
                (client.patch(&path, &json!({"status": "frozen"})).await, 403),
                (client.patch(&format!("{ACCOUNTS}/{bobs}"), &close).await, 409),
            ];
            for (number, (answer, hidden)) in answers.iter().enumerate() {
                let wanted = if is_known { 500 } else { *hidden };
                assert_eq!(answer.status, wanted, "{} {number}: {}", foreign.state, answer.body);
            }
        }
    }
    assert!(scene.books.stored().await == before, "nothing is written");
    scene.books.stack.stop().await;
}
