//! Tests that the ledger rejects invalid requests with the right problem type and writes nothing.
//! Further tests send unusual requests, which the ledger must accept.

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Client,
    ledger::{ACCOUNTS, Books, HOLDS, MERCHANTS, TRANSACTIONS, id, legs, payment},
    requests::{Case, SECRET, all_are_refused, faults_of, sent, shortened},
    send, until,
};

/// Accounts of every status, with transactions between them.
struct Scene {
    books: Books,
    /// An account with a balance of 100.00 USD.
    full: String,
    empty: String,
    frozen: String,
    closed: String,
    yen: String,
    /// The transaction that funds `full`.
    funds: String,
    /// A reversed transaction, and its reversal.
    reversed: String,
    reversal: String,
    /// A transaction whose payee has spent the amount.
    spent: String,
    /// A transaction between a frozen account and `full`.
    stuck: String,
    merchant: String,
}

impl Scene {
    async fn start() -> Self {
        let books = Books::open().await;
        let (full, empty) = (books.account("user-1").await, books.account("user-1").await);
        let (frozen, closed) = (books.account("user-1").await, books.account("user-1").await);
        let secret = books.funded(SECRET, "777.77").await;
        let paid = async |from: &str, to: &str, amount: &str| {
            id(&books.pay(&format!("{from} {to} {amount}"), from, to, amount).await, "transactionId")
        };
        let funds = paid(&books.outside, &full, "100.00").await;
        let spent = paid(&full, &empty, "5.00").await;
        paid(&empty, &secret, "5.00").await;
        paid(&books.outside, &full, "5.00").await;
        let stuck = paid(&full, &frozen, "1.00").await;
        paid(&books.outside, &full, "1.00").await;
        let reversed = paid(&secret, &full, "2.00").await;
        let reversal = id(&books.operator.post(&reversal_of(&reversed), &json!({})).await, "transactionId");
        for (account, status) in [(&frozen, "frozen"), (&closed, "closed")] {
            let answer = books.operator.patch(&format!("{ACCOUNTS}/{account}"), &json!({"status": status})).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
        let yen = json!({"userId": "user-1", "accountType": "checking", "currency": "JPY"});
        let yen = id(&books.operator.post_once(ACCOUNTS, "taken", &yen).await, "accountId");
        let mut in_yen = payment(&books.source("JPY").await, &yen, "500");
        in_yen["currency"] = "JPY".into();
        assert_eq!(books.operator.post_once(TRANSACTIONS, "yen", &in_yen).await.status, 201);
        let merchant = json!({"name": SECRET, "category": SECRET});
        let merchant = id(&books.operator.post_once(MERCHANTS, "taken", &merchant).await, "merchantId");
        let taken = payment(&books.outside, &full, "0.01");
        assert_eq!(books.operator.post_once(TRANSACTIONS, "taken", &taken).await.status, 201);
        books.hold("taken", &secret, &full, "0.01").await;
        Self { books, full, empty, frozen, closed, yen, funds, reversed, reversal, spent, stuck, merchant }
    }

    fn client(&self) -> &Client {
        &self.books.operator
    }

    /// Returns a `POST` request for a transaction with this body and an unused idempotency key.
    fn posted(&self, body: impl Into<reqwest::Body>) -> RequestBuilder {
        sent(self.client(), "POST", TRANSACTIONS, body).header("idempotency-key", "free")
    }

    fn payment(&self) -> Value {
        payment(&self.full, &self.empty, "5.50")
    }
}

fn reversal_of(transaction: &str) -> String {
    format!("{TRANSACTIONS}/{transaction}/reversal")
}

fn account(id: &str) -> String {
    format!("{ACCOUNTS}/{id}")
}

fn account_of(scene: &Scene) -> String {
    account(&scene.full)
}

/// Cases with errors in several fields, or in the combination of fields.
fn together(scene: &Scene) -> Vec<Case> {
    let (client, good) = (scene.client(), scene.payment().to_string());
    let case = |body: &str, at: &str| {
        Case::faults(format!("POST {TRANSACTIONS} {}", shortened(body)), scene.posted(body.to_owned()), at)
    };
    let change = |body: Value, at: &str| {
        let body = body.to_string();
        Case::faults(format!("PATCH {body}"), sent(client, "PATCH", &account_of(scene), body), at)
    };
    let same = payment(&scene.full, &scene.full, "5.50").to_string();
    let all = "/body/transactionType /body/debitAccountId /body/creditAccountId /body/amount /body/currency".to_owned();
    let mut cases = vec![
        case("{}", &all),
        case(r#"{"x": 1}"#, &format!("{all} /body/x")),
        case(&same, "/body/creditAccountId"),
        change(json!({"status": "frozen", "transferTo": scene.empty}), "/body/transferTo"),
        change(json!({"status": "active", "transferTo": scene.empty}), "/body/transferTo"),
        change(json!({"status": "closed", "transferTo": scene.full}), "/body/transferTo"),
        change(json!({"status": "x", "transferTo": scene.full}), "/body/status /body/transferTo"),
        case(&good.replace("payment", "reversal"), "/body/transactionType"),
        case(&good.replace("5.50", "x").replace("USD", "usd"), "/body/amount /body/currency"),
        case(&good.replace("5.50", "0.001").replace("payment", ""), "/body/amount /body/transactionType"),
        Case::faults("no key", sent(client, "POST", TRANSACTIONS, good.clone()), "/header/idempotency-key"),
        Case::faults(
            "no key and no members",
            sent(client, "POST", TRANSACTIONS, "{}"),
            &format!("{all} /header/idempotency-key"),
        ),
        Case::faults("no key and no body", client.request("POST", TRANSACTIONS), "/header/idempotency-key /body"),
        Case::faults("no members of a merchant", sent(client, "POST", MERCHANTS, "{}"), "/body/name /body/category"),
        Case::faults(
            "no members of an account",
            sent(client, "POST", ACCOUNTS, "{}"),
            "/body/userId /body/accountType /body/currency",
        ),
        Case::faults("no members of a change", sent(client, "PATCH", &account_of(scene), "{}"), "/body/status"),
        Case::faults(
            "a path, a query and a body",
            sent(client, "PATCH", &format!("{ACCOUNTS}/a%23b?x=1"), r#"{"status": "x", "version": "y", "z": 1}"#),
            "/path/accountId /query/x /body/status /body/version /body/z",
        ),
    ];
    for key in ["", "#", "a#b", &"x".repeat(129), "a\tb", "a,a", "a, a", ".."] {
        for (path, body) in [
            (MERCHANTS, json!({"name": "a", "category": "b"}).to_string()),
            (ACCOUNTS, json!({"userId": "user-1", "accountType": "a", "currency": "USD"}).to_string()),
            (TRANSACTIONS, good.clone()),
            (&reversal_of(&scene.funds), String::new()),
        ] {
            let request = sent(client, "POST", path, body).header("idempotency-key", key);
            cases.push(Case::faults(format!("{path}, key {:?}", shortened(key)), request, "/header/idempotency-key"));
        }
    }
    cases
}

/// Transactions whose legs do not balance, or that have too few or too many legs.
fn unbalanced(scene: &Scene) -> Vec<Case> {
    let (a, b) = (scene.full.as_str(), scene.empty.as_str());
    let (most, cent) = (format!("{}.99", "9".repeat(36)), "0.01");
    let lists = [
        vec![("debit", a, "1.00", "USD")],
        vec![("debit", a, "1.00", "USD"), ("debit", b, "1.00", "USD")],
        vec![("credit", a, "1.00", "USD"), ("credit", b, "1.00", "USD")],
        vec![("debit", a, "1.00", "USD"), ("credit", b, "1.01", "USD")],
        vec![("debit", a, "1.00", "USD"), ("credit", b, "1.00", "EUR")],
        vec![
            ("debit", a, "1", "USD"),
            ("credit", b, "1", "USD"),
            ("debit", a, "100", "JPY"),
            ("credit", b, "101", "JPY"),
        ],
        vec![("debit", a, most.as_str(), "USD"), ("debit", b, cent, "USD"), ("credit", "C", cent, "USD")],
    ];
    let case = |body: Value, at: &str| Case::faults(format!("legs {body}"), scene.posted(body.to_string()), at);
    let mut cases: Vec<Case> = lists.into_iter().map(|list| case(legs(list), "/body/legs")).collect();
    let itself = legs([("debit", a, "1.00", "USD"), ("credit", a, "1.00", "USD")]);
    cases.push(case(itself, "/body/legs /body/legs/1/legType"));
    cases.extend(two_sided(a, b).into_iter().map(|(list, at)| case(legs(list), at)));
    let amounts = legs([("debit", a, "1.005", "USD"), ("credit", b, "0", "USD")]);
    cases.push(case(amounts, "/body/legs/0/amount /body/legs/1/amount"));
    cases.extend([(50, 50), (50, 2), (200, 2)].map(|(count, accounts)| {
        let accounts: Vec<_> = (0..accounts).map(|number| format!("A-{number}")).collect();
        case(many_legs(&accounts, count), "/body/legs")
    }));
    cases
}

type Legs<'a> = Vec<(&'a str, &'a str, &'a str, &'a str)>;

/// Balanced legs with an account that is debited and credited. The account could pay with money
/// that it receives in the same transaction.
fn two_sided<'a>(a: &'a str, b: &'a str) -> [(Legs<'a>, &'static str); 4] {
    let (million, cent) = ("1000000.00", "0.01");
    [
        (
            vec![
                ("credit", b, million, "USD"),
                ("debit", b, million, "USD"),
                ("debit", a, million, "USD"),
                ("credit", "C", million, "USD"),
            ],
            "/body/legs/1/legType",
        ),
        (
            vec![
                ("debit", b, million, "USD"),
                ("debit", a, million, "USD"),
                ("credit", b, million, "USD"),
                ("credit", "C", million, "USD"),
            ],
            "/body/legs/2/legType",
        ),
        (
            vec![
                ("debit", a, cent, "USD"),
                ("credit", b, cent, "USD"),
                ("debit", b, "5", "JPY"),
                ("credit", a, "5", "JPY"),
            ],
            "/body/legs/2/legType /body/legs/3/legType",
        ),
        (
            vec![
                ("credit", a, million, "USD"),
                ("debit", b, million, "USD"),
                ("debit", a, cent, "USD"),
                ("credit", b, cent, "USD"),
            ],
            "/body/legs/2/legType /body/legs/3/legType",
        ),
    ]
}

/// Returns balanced legs on the accounts: one debit, and credits of one cent each.
fn many_legs(accounts: &[String], count: usize) -> Value {
    let credits = count - 1;
    let sum = format!("{}.{:02}", credits / 100, credits % 100);
    let credit = |number: usize| ("credit", accounts[1 + number % (accounts.len() - 1)].as_str(), "0.01", "USD");
    let debit = ("debit", accounts[0].as_str(), sum.as_str(), "USD");
    legs(std::iter::once(debit).chain((0..credits).map(credit)))
}

/// Returns requests to every route that has a path parameter. The parameter is `text`; the rest of
/// each request is valid.
fn routes<'a>(scene: &Scene, text: &'a str) -> Vec<(&'a str, RequestBuilder)> {
    let client = scene.client();
    vec![
        ("accountId", client.request("GET", &account(text))),
        ("accountId", client.request("GET", &format!("{}/statement", account(text)))),
        ("accountId", client.request("GET", &format!("{}/balance", account(text)))),
        ("accountId", sent(client, "PATCH", &account(text), r#"{"status": "frozen"}"#)),
        ("merchantId", client.request("GET", &format!("{MERCHANTS}/{text}"))),
        ("merchantId", client.request("GET", &format!("{MERCHANTS}/{text}/totals"))),
        ("holdId", client.request("GET", &format!("{HOLDS}/{text}"))),
        ("holdId", client.request("POST", &format!("{HOLDS}/{text}/capture")).header("idempotency-key", "free")),
        ("holdId", client.request("POST", &format!("{HOLDS}/{text}/void")).header("idempotency-key", "free")),
        ("transactionId", client.request("GET", &format!("{TRANSACTIONS}/{text}"))),
        ("transactionId", client.request("POST", &reversal_of(text))),
        ("userId", client.request("GET", &format!("/ledger/users/{text}/accounts"))),
    ]
}

/// Query parameters that exclude each other, and periods that end before they start.
fn combined(scene: &Scene) -> Vec<Case> {
    let statement = format!("{}/statement", account_of(scene));
    let totals = format!("{MERCHANTS}/{}/totals", scene.merchant);
    let balance = format!("{}/balance", account_of(scene));
    let case = |(list, query, names): (&str, &str, &str)| Case::query(scene.client(), list, query, names);
    [
        (TRANSACTIONS, "since=2026-01-03&until=2026-01-02", "until"),
        (TRANSACTIONS, "since=2026-01-02T00:00:00.0000002Z&until=2026-01-02T00:00:00.0000001Z", "until"),
        (TRANSACTIONS, "since=2026-01-02T00:00:00Z&until=2026-01-02T00:59:59%2B01:00", "until"),
        (TRANSACTIONS, "idempotencyKey=a&status=completed", "idempotencyKey"),
        (TRANSACTIONS, "idempotencyKey=a&since=2026-01-02T00:00:00Z", "idempotencyKey"),
        (TRANSACTIONS, "idempotencyKey=a&until=2026-01-02T00:00:00Z", "idempotencyKey"),
        (TRANSACTIONS, "idempotencyKey=a&status=x", "idempotencyKey status"),
        (TRANSACTIONS, "status=x&since=x&until=x&limit=0&page=2", "status since until limit page"),
        (&statement, "from=2026-01-02T00:00:00.001Z&to=2026-01-02T00:00:00Z", "to"),
        (&statement, "from=x&to=y", "from to"),
        (&balance, "at=9000-01-01", "at"),
        (&totals, "from=2026-01-03&to=2026-01-02", "to"),
        (&totals, "from=2025-01-02&to=2026-01-03", "from"),
        ("/ledger/trial-balance", "date=9000-01-01", "date"),
    ]
    .map(case)
    .into()
}

/// Requests that conflict with stored items, such as an account, a transaction or a used
/// idempotency key.
fn states(scene: &Scene) -> Vec<Case> {
    let (client, outside) = (scene.client(), scene.books.outside.as_str());
    let (full, empty) = (scene.full.as_str(), scene.empty.as_str());
    let conflict = |name: &str, body: &Value, kind: &str| {
        Case::new(name, client.request("POST", TRANSACTIONS).header("idempotency-key", "free").json(body), 409, kind)
    };
    let (most, yen) = (format!("{}.99", "9".repeat(36)), json!("JPY"));
    let in_yen = |debit: &str, credit: &str| {
        let mut body = payment(debit, credit, "5");
        body["currency"] = yen.clone();
        body
    };
    let mixed =
        legs([("debit", full, "60.00", "USD"), ("debit", full, "60.00", "USD"), ("credit", empty, "120", "USD")]);
    let patched = |id: &str, body: Value| client.request("PATCH", &account(id)).json(&body);
    let reversed = |id: &str| client.request("POST", &reversal_of(id));
    let keyed = |path: &str, body: &Value| client.request("POST", path).header("idempotency-key", "taken").json(body);
    let another = json!({"userId": "user-2", "accountType": "checking", "currency": "JPY"});
    vec![
        conflict("a cent more than the balance", &payment(full, empty, "100.02"), "insufficient-funds"),
        conflict("from an account without money", &payment(empty, full, "0.01"), "insufficient-funds"),
        conflict("two legs that together overdraw the account", &mixed, "insufficient-funds"),
        conflict("to a frozen account", &payment(full, &scene.frozen, "1.00"), "account-frozen"),
        conflict("from a frozen account", &payment(&scene.frozen, full, "1.00"), "account-frozen"),
        conflict("to a closed account", &payment(full, &scene.closed, "1.00"), "account-closed"),
        conflict("from a closed account", &payment(&scene.closed, full, "1.00"), "account-closed"),
        conflict("yen from dollars", &in_yen(full, &scene.yen), "currency-mismatch"),
        conflict("yen to dollars", &in_yen(&scene.yen, full), "currency-mismatch"),
        conflict("yen from outside", &in_yen(&scene.books.outside, &scene.yen), "currency-mismatch"),
        conflict("dollars to yen", &payment(full, &scene.yen, "1.00"), "currency-mismatch"),
        conflict("more than 38 digits", &payment(outside, full, &most), "balance-too-large"),
        Case::new("close a funded account", patched(full, json!({"status": "closed"})), 409, "balance-not-zero"),
        Case::new("reopen a closed one", patched(&scene.closed, json!({"status": "active"})), 409, "account-closed"),
        Case::new("freeze a closed one", patched(&scene.closed, json!({"status": "frozen"})), 409, "account-closed"),
        Case::new("another version", patched(full, json!({"status": "frozen", "version": 99})), 412, "another-version"),
        Case::new("reverse again", reversed(&scene.reversed).header("idempotency-key", "x"), 409, "already-reversed"),
        Case::new("reverse a reversal", reversed(&scene.reversal), 409, "is-reversal"),
        Case::new("reverse a transaction whose amount was spent", reversed(&scene.spent), 409, "insufficient-funds"),
        Case::new("reverse a transaction of a frozen account", reversed(&scene.stuck), 409, "account-frozen"),
        Case::new("the key of another merchant", keyed(MERCHANTS, &json!({"name": "a", "category": "b"})), 422, REUSED),
        Case::new("the key of another account", keyed(ACCOUNTS, &another), 422, REUSED),
        Case::new("the key of another transaction", keyed(TRANSACTIONS, &payment(outside, full, "0.02")), 422, REUSED),
        Case::new("the key of a payment, with legs", keyed(TRANSACTIONS, &as_legs(outside, full)), 422, REUSED),
    ]
}

const REUSED: &str = "idempotency-key-reused";

/// A transaction whose legs equal the legs of the payment that used the key.
fn as_legs(debit: &str, credit: &str) -> Value {
    legs([("debit", debit, "0.01", "USD"), ("credit", credit, "0.01", "USD")])
}

/// Requests for missing items. Operators get 404.
fn missing(scene: &Scene) -> Vec<Case> {
    let (client, nobody) = (scene.client(), "880h1733");
    let mut cases = Vec::new();
    for (number, (name, request)) in routes(scene, nobody).into_iter().enumerate() {
        if name != "userId" {
            cases.push(Case::new(format!("route {number} of a missing item"), request, 404, "not-found"));
        }
    }
    let mut of_nobody = scene.payment();
    of_nobody["merchantId"] = nobody.into();
    // An account id does not identify a merchant.
    let mut of_account = scene.payment();
    of_account["merchantId"] = scene.full.as_str().into();
    for body in [of_nobody, of_account, payment(nobody, &scene.full, "1.00"), payment(&scene.full, nobody, "1.00")] {
        let request = client.request("POST", TRANSACTIONS).header("idempotency-key", "free").json(&body);
        cases.push(Case::new(format!("transaction with a missing item {body}"), request, 404, "not-found"));
    }
    for (path, what) in [
        (format!("{TRANSACTIONS}/{}", scene.full), "an account"),
        (account(&scene.funds), "a transaction"),
        (format!("{MERCHANTS}/{}", scene.full), "an account"),
    ] {
        cases.push(Case::new(format!("{path} is {what}"), client.request("GET", &path), 404, "not-found"));
    }
    cases
}

#[tokio::test]
async fn rejects_invalid_requests_without_writing() {
    let scene = Scene::start().await;
    let groups = [together(&scene), unbalanced(&scene), combined(&scene), states(&scene), missing(&scene)];
    let cases: Vec<Case> = groups.into_iter().flatten().collect();
    all_are_refused(cases, &scene.books.stack.tables(), async || scene.books.stored().await).await;
    scene.books.stack.stop().await;
}

/// A rejected payment does not consume its idempotency key, so the same request may succeed later.
#[tokio::test]
async fn rejected_payment_does_not_consume_its_key() {
    let books = Books::open().await;
    let (from, to) = (books.account("user-1").await, books.account("user-2").await);
    assert_eq!(books.pay("K-1", &from, &to, "5.50").await.status, 409);
    assert_eq!(books.pay("K-1", &from, &to, "0").await.status, 400);
    assert_eq!(books.pay("fund", &books.outside, &from, "5.50").await.status, 201);
    let paid = books.pay("K-1", &from, &to, "5.50").await;
    assert_eq!(paid.status, 201, "{}", paid.body);
    assert_eq!(books.pay("K-1", &from, &to, "5.50").await.body, paid.body, "a retry gets the same response");
    assert_eq!(books.pay("K-1", &from, &to, "5.51").await.status, 422);
    books.stack.stop().await;
}

/// The largest transactions can be posted and reversed. A reversal then uses all 100 actions of a
/// `TransactWriteItems` call.
#[tokio::test]
async fn posts_and_reverses_the_largest_transactions() {
    let books = Books::open().await;
    let mut accounts = vec![books.outside.clone()];
    for _ in 1..49 {
        accounts.push(books.account("user-1").await);
    }
    for (key, count, of) in [("K-1", 49, 49), ("K-2", 49, 2), ("K-3", 48, 48)] {
        let posted = books.operator.post_once(TRANSACTIONS, key, &many_legs(&accounts[..of], count)).await;
        assert_eq!(posted.status, 201, "{count} legs of {of} accounts: {}", posted.body);
        let location = posted.headers["location"].to_str().expect("text");
        let read = books.operator.get(location).await;
        assert_eq!((read.status, &read.body), (200, &posted.body));
        assert_eq!(read.body["legs"].as_array().map(Vec::len), Some(count));
        let undone = books.operator.post(&format!("{location}/reversal"), &json!({})).await;
        assert_eq!(undone.status, 201, "{count} legs of {of} accounts: {}", undone.body);
    }
    // Each leg credits an account that has become grouped.
    let many = many_legs(&accounts[..2], 49).to_string().replace("credit", "x").replace("debit", "credit");
    let posted = sent(&books.operator, "POST", TRANSACTIONS, many.replace("\"x\"", "\"debit\""));
    let funded = books.pay("K-4", &accounts[0], &accounts[1], "0.48").await;
    assert_eq!(funded.status, 201, "{}", funded.body);
    let posted = send(posted.header("idempotency-key", "K-5")).await;
    assert_eq!(posted.status, 201, "{}", posted.body);
    let grouped = books.operator.patch(&account(&accounts[1]), &json!({"posting": "grouped"})).await;
    assert_eq!(grouped.status, 200, "{}", grouped.body);
    let undone = books.operator.post(&reversal_of(&id(&posted, "transactionId")), &json!({})).await;
    assert_eq!(undone.status, 201, "{}", undone.body);
    until(&books.operator, &account(&accounts[1]), |answer| answer.body["balance"] == "0.48").await;
    assert_eq!(books.pay("K-6", &accounts[1], &accounts[0], "0.48").await.status, 201);
    assert_eq!(books.balance(&accounts[1]).await, "0.00");
    books.stack.stop().await;
}

#[tokio::test]
async fn accepts_unusual_valid_values() {
    let books = Books::open().await;
    let client = &books.operator;
    let (longest, wide) = ("x".repeat(128), "\u{1f4b6}".repeat(128));
    for (number, name) in ["ä💶", "a-b", "/", "%23", longest.as_str(), wide.as_str()].into_iter().enumerate() {
        let terms = json!({"userId": name, "accountType": name, "currency": "USD"});
        let opened = client.post_once(ACCOUNTS, &format!("K-{number}"), &terms).await;
        assert_eq!((opened.status, &opened.body["userId"]), (201, &json!(name)), "{}", opened.body);
        let location = opened.headers["location"].to_str().expect("ASCII");
        assert_eq!(client.get(location).await.body, opened.body);
        let escaped = name.bytes().fold(String::new(), |path, byte| path + &format!("%{byte:02X}"));
        let listed = client.get(&format!("/ledger/users/{escaped}/accounts")).await;
        assert_eq!(listed.body["items"], json!([opened.body]), "{name}");
        let mut paid = payment(&books.outside, opened.body["accountId"].as_str().expect("an id"), "1.00");
        (paid["transactionType"], paid["description"]) = (longest.as_str().into(), wide.as_str().into());
        let paid = client.post_once(TRANSACTIONS, &longest, &paid).await;
        assert_eq!(paid.status, if number == 0 { 201 } else { 422 }, "{}", paid.body);
    }
    let most = json!({"name": wide, "category": longest});
    assert_eq!(client.post(MERCHANTS, &most).await.body["name"], wide.as_str());
    for kind in ["application/json", "APPLICATION/JSON; charset=utf-8", "application/merge-patch+json"] {
        let body = most.to_string();
        let taken = send(client.request("POST", MERCHANTS).header("content-type", kind).body(body)).await;
        assert_eq!(taken.status, 201, "{kind}: {}", taken.body);
    }
    // The body of a reversal may be missing or an empty object.
    for (key, body) in [("none", None), ("empty", Some("{}"))] {
        let account = books.funded("user-1", "1.00").await;
        let paid = id(&books.pay(key, &account, &books.outside, "1.00").await, "transactionId");
        let reversal = match body {
            Some(body) => sent(client, "POST", &reversal_of(&paid), body),
            None => client.request("POST", &reversal_of(&paid)),
        };
        assert_eq!(send(reversal).await.status, 201, "{key}");
    }
    books.stack.stop().await;
}

/// All errors are reported together, including errors in legs.
#[tokio::test]
async fn errors_point_to_the_invalid_legs() {
    let books = Books::open().await;
    let body = legs([("debit", "A", "0", "USD"), ("credit", "B", "1.00", "USD"), ("credit", "C", "1.5", "JPY")]);
    let answer = books.operator.post(TRANSACTIONS, &body).await;
    let wanted = ["/body/legs/0/amount", "/body/legs/2/amount", "/header/idempotency-key"];
    assert_eq!((answer.status, faults_of(&answer.body)), (400, BTreeSet::from(wanted)));
    books.stack.stop().await;
}
