//! Tests that the ledger rejects invalid requests with the right problem type and writes nothing.
//! Further tests send unusual requests, which the ledger must accept.

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Client,
    ledger::{ACCOUNTS, BATCH, Books, HOLDS, MERCHANTS, TRANSACTIONS, batch, hold, id, legs, payment},
    requests::{
        Case, NO_CURRENCIES, SECRET, all_are_refused, changes_of, cursor, faults_of, must_refuse_cursor,
        no_identifiers, sent, shortened, unreadable, wrong_identifiers,
    },
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
    /// An open hold of `full`.
    hold: String,
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
        let hold = id(&books.hold("taken", &secret, &full, "0.01").await, "holdId");
        Self { books, full, empty, frozen, closed, yen, funds, reversed, reversal, spent, stuck, merchant, hold }
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

fn bodies(scene: &Scene) -> Vec<Case> {
    let [merchant, account] = [MERCHANTS, ACCOUNTS].map(|path| unreadable(scene.client(), "POST", path, "{\"a\": 1}"));
    let change = unreadable(scene.client(), "PATCH", &account_of(scene), "{\"status\": \"frozen\"}");
    [merchant, account, change].into_iter().flatten().collect()
}

fn account_of(scene: &Scene) -> String {
    account(&scene.full)
}

/// Requests for transactions with unreadable bodies. Each request has an idempotency key.
fn unreadable_transactions(scene: &Scene) -> Vec<Case> {
    let good = scene.payment().to_string();
    let unclosed = good.strip_suffix('}').expect("an object");
    let spaces = format!("{good}{}", " ".repeat(64 * 1024 + 1 - good.len()));
    let mut cases: Vec<Case> =
        ["", "{", "[]", "null", "\"text\"", &format!("{good}}}"), &format!("{unclosed},}}"), &good.replace('"', "'")]
            .map(|body| {
                Case::faults(format!("transaction {}", shortened(body)), scene.posted(body.to_owned()), "/body")
            })
            .into();
    cases.push(Case::new("a transaction over 64 KB", scene.posted(spaces), 413, "too-large"));
    let typed = |kind: &str| {
        let request = scene.client().request("POST", TRANSACTIONS).header("content-type", kind);
        request.header("idempotency-key", "free").body(good.clone())
    };
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        cases.push(Case::new(format!("a transaction of {kind:?}"), typed(kind), 415, "unsupported-media-type"));
    }
    cases
}

/// Invalid bodies of reversals. The only field is the amount, which needs an idempotency key.
fn reversals(scene: &Scene) -> Vec<Case> {
    let path = reversal_of(&scene.funds);
    let case = |body: &str, at: &str| {
        Case::faults(format!("reversal {body}"), sent(scene.client(), "POST", &path, body.to_owned()), at)
    };
    let keyed = |body: &str, at: &str| {
        let request = sent(scene.client(), "POST", &path, body.to_owned()).header("idempotency-key", "refund");
        Case::faults(format!("reversal {body}"), request, at)
    };
    let please = scene.client().request("POST", &path).header("content-type", "text/plain").body("please");
    let large = sent(scene.client(), "POST", &path, " ".repeat(64 * 1024 + 1));
    vec![
        case("{", "/body"),
        case("[]", "/body"),
        case("null", "/body"),
        case(r#"{"amount": "1.00"}"#, "/header/idempotency-key"),
        keyed(r#"{"amount": "0.00"}"#, "/body/amount"),
        keyed(r#"{"amount": "-1.00"}"#, "/body/amount"),
        keyed(r#"{"amount": "1.001"}"#, "/body/amount"),
        keyed(r#"{"amount": {}}"#, "/body/amount"),
        keyed(r#"{"amount": "1.00", "currency": "USD"}"#, "/body/currency"),
        case(r#"{"transactionType": "reversal", "legs": []}"#, "/body/transactionType /body/legs"),
        Case::new("a reversal of type text/plain", please, 415, "unsupported-media-type"),
        Case::new("a reversal over 64 KB", large, 413, "too-large"),
    ]
}

/// Returns the valid object as text, with one field removed or replaced by `json`.
fn with(good: &Value, member: &str, json: Option<&str>) -> String {
    let others = good.as_object().expect("an object").iter().filter(|(name, _)| *name != member);
    let others = others.map(|(name, value)| format!("{}: {value}", json!(name)));
    let member = json.map(|json| format!("{}: {json}", json!(member)));
    format!("{{{}}}", others.chain(member).collect::<Vec<_>>().join(", "))
}

/// Returns invalid values of a text field with a maximum length.
fn no_words(most: usize) -> Vec<String> {
    let long = json!("x".repeat(most + 1)).to_string();
    ["\"\"", "\"a\\nb\"", "\"\\u0000\"", "\"a\\u007f\"", "\"a\\u0085\"", "null", "5", "true", "[\"a\"]", "{}", &long]
        .map(str::to_owned)
        .into()
}

const NO_BOOLEANS: [&str; 7] = ["\"true\"", "1", "0", "null", "[true]", "{}", "\"\""];
const NO_TYPES: [&str; 7] =
    ["\"5\"", "\"-a\"", "\"a b\"", "\"a.b\"", "\"p\u{e4}yment\"", "\"\u{ff50}ayment\"", "\"p\u{430}yment\""];
const NO_STATUSES: [&str; 10] = [
    "\"open\"",
    "\"Active\"",
    "\"FROZEN\"",
    "\"closed \"",
    "\"\"",
    "null",
    "5",
    "true",
    "[\"closed\"]",
    "{\"status\": \"closed\"}",
];
const NO_VERSIONS: [&str; 8] = ["\"1\"", "1.5", "-1", "null", "true", "[1]", "{}", "9223372036854775808"];

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

/// A field of a body: its name, whether it is required, and invalid values.
type Member = (&'static str, bool, Vec<String>);

/// A route, a valid body, and the fields that the body may have.
struct Form {
    method: &'static str,
    path: String,
    good: Value,
    members: Vec<Member>,
}

fn forms(scene: &Scene) -> [Form; 4] {
    let form = |method, path: &str, good, members| Form { method, path: path.to_owned(), good, members };
    let (id, currency) = (wrong_identifiers, || texts(NO_CURRENCIES));
    let merchant = json!({"name": "Tea Shop", "category": "Restaurant"});
    let terms = json!({"userId": "user-1", "accountType": "checking", "currency": "USD"});
    [
        form("POST", MERCHANTS, merchant, vec![("name", true, no_words(128)), ("category", true, no_words(128))]),
        form(
            "POST",
            ACCOUNTS,
            terms,
            vec![
                ("userId", true, id()),
                ("accountType", true, id()),
                ("currency", true, currency()),
                ("allowNegative", false, texts(NO_BOOLEANS)),
            ],
        ),
        form(
            "PATCH",
            &account_of(scene),
            json!({"status": "frozen"}),
            vec![
                ("status", true, texts(NO_STATUSES)),
                ("version", false, texts(NO_VERSIONS)),
                ("transferTo", false, id()),
            ],
        ),
        form(
            "POST",
            TRANSACTIONS,
            scene.payment(),
            vec![
                ("transactionType", true, [id(), texts(NO_TYPES)].concat()),
                ("debitAccountId", true, id()),
                ("creditAccountId", true, id()),
                ("amount", true, texts(["\"x\"", "null", "{}", "[]", "true"])),
                ("currency", true, currency()),
                ("merchantId", false, id()),
                ("description", false, no_words(256)),
            ],
        ),
    ]
}

/// Cases for every field of every body: missing, invalid, duplicate and unknown fields.
fn members(scene: &Scene) -> Vec<Case> {
    let mut cases = Vec::new();
    for Form { method, path, good, members } in forms(scene) {
        let mut case = |body: String, at: &str| {
            let name = format!("{method} {path} {}", shortened(&body));
            let request = sent(scene.client(), method, &path, body).header("idempotency-key", "free");
            cases.push(Case::faults(name, request, &format!("/body/{at}")));
        };
        for (member, needed, wrong) in &members {
            for json in wrong {
                case(with(&good, member, Some(json)), member);
            }
            if *needed {
                case(with(&good, member, None), member);
                let once = good.to_string();
                let unclosed = once.strip_suffix('}').expect("an object");
                case(format!("{unclosed}, {}: {}}}", json!(member), good[*member]), member);
            }
        }
        for stranger in ["id", "balance", "PK", "Status", "idempotencyKey", "createdAt", ""] {
            case(with(&good, stranger, Some("1")), stranger);
        }
        case(with(&good, "a/b~c", Some("1")), "a~1b~0c");
    }
    cases
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

/// Unreadable legs.
fn no_legs(scene: &Scene) -> Vec<Case> {
    let (a, b) = (scene.full.as_str(), scene.empty.as_str());
    let leg = |more: &str| {
        format!(r#"{{"accountId": "{a}", "legType": "debit", "amount": "1.00", "currency": "USD"{more}}}"#)
    };
    let other = leg("").replace(a, b).replace("debit", "credit");
    let lists = ["null", "5", "\"legs\"", "{}", "true", "[]", "[null]", "[[]]"].map(str::to_owned);
    let firsts = [
        leg(r#", "x": 1"#),
        leg(r#", "balanceAfter": "5.00""#),
        leg(r#", "currency": "USD""#),
        leg("").replace("debit", "Debit"),
        leg("").replace("debit", ""),
        leg("").replace("\"debit\"", "null"),
        leg("").replace("legType", "type"),
        leg("").replace("accountId", "account"),
        leg("").replace(a, ""),
        leg("").replace(a, "a#b"),
        leg("").replace("USD", "usd"),
        leg("").replace("\"1.00\"", "\"x\""),
        "5".to_owned(),
        "null".to_owned(),
        "{}".to_owned(),
        "[]".to_owned(),
    ];
    let lists = firsts.map(|first| format!("[{first}, {other}]")).into_iter().chain(lists);
    let case = |body: String, at: &str| Case::faults(format!("legs {}", shortened(&body)), scene.posted(body), at);
    let mut cases: Vec<Case> = lists.map(|list| case(format!(r#"{{"legs": {list}}}"#), "/body/legs")).collect();
    let good = legs([("debit", a, "1.00", "USD"), ("credit", b, "1.00", "USD")]);
    for (member, json) in [("debitAccountId", "\"A\""), ("amount", "\"1.00\""), ("currency", "\"USD\"")] {
        cases.push(case(with(&good, member, Some(json)), &format!("/body/{member}")));
    }
    for kind in ["\"a#b\"", "\"reversal\"", "null"] {
        cases.push(case(with(&good, "transactionType", Some(kind)), "/body/transactionType"));
    }
    let twice = good.to_string();
    cases.push(case(format!("{}, \"legs\": []}}", twice.strip_suffix('}').expect("an object")), "/body/legs"));
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

fn identifiers(scene: &Scene) -> Vec<Case> {
    let mut cases = Vec::new();
    for text in no_identifiers() {
        for (number, (name, request)) in routes(scene, &text).into_iter().enumerate() {
            let name = (format!("route {number} of {}", shortened(&text)), format!("/path/{name}"));
            cases.push(Case::faults(name.0, request, &name.1));
        }
    }
    cases
}

/// Invalid query parameters of every list.
fn queries(scene: &Scene) -> Vec<Case> {
    let lists = lists(scene);
    let everywhere = [
        "limit=0",
        "limit=-1",
        "limit=101",
        "limit=x",
        "limit=1.5",
        "limit=%2B5",
        "limit=",
        "limit",
        "limit=18446744073709551617",
        "limit=5&limit=6",
        "cursor=",
        "cursor=x",
        "cursor=%23",
        "cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "cursor=x&cursor=x",
        "Limit=5",
        "page=2",
        "userId=user-1",
        "From=2026-01-02T00:00:00Z",
    ];
    let of_period = [
        ("from=", "from"),
        ("from=2026-01-2", "from"),
        ("from=2026-01-03&to=2026-01-02", "to"),
        ("from=2026-01-02T00:00:00Z&from=2026-01-02T00:00:00Z", "from"),
        ("to=2026-02-30T00:00:00Z", "to"),
        ("from=x&to=y", "from to"),
        ("from=2026-01-02T00:00:00.001Z&to=2026-01-02T00:00:00Z", "to"),
        ("at=2026-01-02T00:00:00Z", "at"),
    ];
    let of_balance = [
        ("at=", "at"),
        ("at=2026-01-2", "at"),
        ("at=9000-01-01", "at"),
        ("at=9999-12-31", "at"),
        ("at=9000-01-01T00:00:00Z", "at"),
        ("at=2026-01-02T00:00:00Z&at=2026-01-02T00:00:00Z", "at"),
        ("from=2026-01-02T00:00:00Z", "from"),
        ("limit=5", "limit"),
    ];
    let of_time = [
        ("status=", "status"),
        ("status=pending", "status"),
        ("status=COMPLETED", "status"),
        ("status=completed%23", "status"),
        ("status=completed&status=completed", "status"),
        ("since=", "since"),
        ("since=2026-01-2", "since"),
        ("since=2026-01-03&until=2026-01-02", "until"),
        ("since=2026-02-30T00:00:00Z", "since"),
        ("since=2026-01-02T00:00:00", "since"),
        ("since=2026-01-02T00:00:00+02:00", "since"),
        ("since=x&until=y", "since until"),
        ("until=2026-01-02T25:00:00Z", "until"),
        ("until=2026-01-02T00:00:00Z&until=2026-01-02T00:00:00Z", "until"),
        ("since=2026-01-02T00:00:01Z&until=2026-01-02T00:00:00Z", "until"),
        ("since=2026-01-02T00:00:00.001Z&until=2026-01-02T00:00:00Z", "until"),
        ("since=2026-01-02T00:00:00.0000002Z&until=2026-01-02T00:00:00.0000001Z", "until"),
        ("since=2026-01-02T00:00:00Z&until=2026-01-02T00:59:59%2B01:00", "until"),
        ("idempotencyKey=", "idempotencyKey"),
        ("idempotencyKey=%23", "idempotencyKey"),
        ("idempotencyKey=a&idempotencyKey=b", "idempotencyKey"),
        ("idempotencyKey=a&status=completed", "idempotencyKey"),
        ("idempotencyKey=a&since=2026-01-02T00:00:00Z", "idempotencyKey"),
        ("idempotencyKey=a&until=2026-01-02T00:00:00Z", "idempotencyKey"),
        ("idempotencyKey=a&status=x", "idempotencyKey status"),
        ("status=x&since=x&until=x&limit=0&page=2", "status since until limit page"),
    ];
    let case = |list: &str, query: &str, names: &str| Case::query(scene.client(), list, query, names);
    let name = |query: &'static str| query.split('=').next().expect("a name");
    let mut cases: Vec<Case> =
        lists.iter().flat_map(|list| everywhere.map(|query| case(list, query, name(query)))).collect();
    cases.extend(of_time.map(|(query, names)| case(TRANSACTIONS, query, names)));
    cases.extend(of_period.map(|(query, names)| case(&lists[1], query, names)));
    let balance = format!("{}/balance", account_of(scene));
    cases.extend(of_balance.map(|(query, names)| case(&balance, query, names)));
    for list in [&lists[0], &lists[2]] {
        cases.push(case(list, "from=2026-01-02T00:00:00Z", "from"));
    }
    for query in ["status=completed", "since=2026-01-02T00:00:00Z", "until=2026-01-02T00:00:00Z", "idempotencyKey=a"] {
        cases.extend(lists[1..].iter().map(|list| case(list, query, name(query))));
    }
    cases
}

/// Invalid periods of the totals, and invalid dates of the trial balance.
fn days(scene: &Scene) -> Vec<Case> {
    let of_totals = [
        ("from=", "from"),
        ("from=2026-01-02T00:00:00Z", "from"),
        ("to=2026-02-30", "to"),
        ("to=2026-01-02&to=2026-01-02", "to"),
        ("from=x&to=y", "from to"),
        ("from=2026-01-03&to=2026-01-02", "to"),
        ("from=2025-01-02&to=2026-01-03", "from"),
        ("date=2026-01-02", "date"),
    ];
    let of_trial_balance = [
        ("date=", "date"),
        ("date=2026-02-30", "date"),
        ("date=2026-01-02T00:00:00Z", "date"),
        ("date=2026-01-02&date=2026-01-02", "date"),
        ("date=9000-01-01", "date"),
        ("from=2026-01-02", "from"),
    ];
    let totals = format!("{MERCHANTS}/{}/totals", scene.merchant);
    let case = |list: &str, query: &str, names: &str| Case::query(scene.client(), list, query, names);
    let totals = of_totals.map(|(query, names)| case(&totals, query, names));
    totals
        .into_iter()
        .chain(of_trial_balance.map(|(query, names)| case("/ledger/trial-balance", query, names)))
        .collect()
}

/// Query parameters on routes that do not accept query parameters.
fn strangers(scene: &Scene) -> Vec<Case> {
    let change = r#"{"status": "frozen"}"#.to_owned();
    let of_hold = format!("{HOLDS}/{}", scene.hold);
    let paths = [
        ("GET", account_of(scene), String::new()),
        ("PATCH", account_of(scene), change),
        ("POST", ACCOUNTS.to_owned(), r#"{"userId": "u", "accountType": "a", "currency": "USD"}"#.to_owned()),
        ("POST", MERCHANTS.to_owned(), r#"{"name": "a", "category": "b"}"#.to_owned()),
        ("GET", format!("{MERCHANTS}/{}", scene.merchant), String::new()),
        ("POST", TRANSACTIONS.to_owned(), scene.payment().to_string()),
        ("GET", format!("{TRANSACTIONS}/{}", scene.funds), String::new()),
        ("POST", reversal_of(&scene.funds), String::new()),
        ("POST", BATCH.to_owned(), batch([("free", scene.payment())]).to_string()),
        ("POST", HOLDS.to_owned(), hold(&scene.full, &scene.empty, "1.00").to_string()),
        ("GET", of_hold.clone(), String::new()),
        ("POST", format!("{of_hold}/capture"), String::new()),
        ("POST", format!("{of_hold}/void"), String::new()),
        ("GET", format!("{MERCHANTS}/{}/totals", scene.merchant), String::new()),
        ("GET", "/ledger/trial-balance".to_owned(), String::new()),
    ];
    let mut cases = Vec::new();
    for name in ["limit", "status", "x", "expand"] {
        for (method, path, body) in &paths {
            let path = format!("{path}?{name}=5");
            let request = sent(scene.client(), method, &path, body.clone()).header("idempotency-key", "free");
            cases.push(Case::faults(format!("{method} {path}"), request, &format!("/query/{name}")));
        }
    }
    cases
}

/// Returns the paths of all lists. The list of transactions comes first.
fn lists(scene: &Scene) -> [String; 3] {
    let statement = format!("{}/statement", account_of(scene));
    [TRANSACTIONS.to_owned(), statement, "/ledger/users/user-1/accounts".to_owned()]
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

fn gateway(scene: &Scene) -> Vec<Case> {
    let client = scene.client();
    let (account, transaction) = (account_of(scene), format!("{TRANSACTIONS}/{}", scene.funds));
    let rows = [
        ("GET", "/ledger", 404),
        ("GET", ACCOUNTS, 405),
        ("PUT", MERCHANTS, 405),
        ("GET", "/ledger/accounts/", 404),
        ("GET", "/ledger/accounts//statement", 404),
        ("GET", "/ledger/users//accounts", 404),
        ("GET", "/ledger/users/user-1", 404),
        ("PUT", account.as_str(), 405),
        ("DELETE", account.as_str(), 405),
        ("POST", account.as_str(), 405),
        ("PUT", transaction.as_str(), 405),
        ("PATCH", transaction.as_str(), 405),
        ("DELETE", transaction.as_str(), 405),
        ("DELETE", TRANSACTIONS, 405),
        ("DELETE", MERCHANTS, 405),
        ("POST", "/ledger/transactions//reversal", 404),
    ];
    let case = |(method, path, status)| Case::gateway(format!("{method} {path}"), client.request(method, path), status);
    rows.into_iter().map(case).collect()
}

#[tokio::test]
async fn rejects_invalid_requests_without_writing() {
    let scene = Scene::start().await;
    let groups = [
        bodies(&scene),
        unreadable_transactions(&scene),
        reversals(&scene),
        members(&scene),
        together(&scene),
        no_legs(&scene),
        unbalanced(&scene),
        identifiers(&scene),
        queries(&scene),
        days(&scene),
        strangers(&scene),
        states(&scene),
        missing(&scene),
        gateway(&scene),
    ];
    let cases: Vec<Case> = groups.into_iter().flatten().collect();
    assert!(cases.len() >= 600, "{}", cases.len());
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

/// Returns the paths of lists: accounts of a user, statements, and transactions by time and by key.
/// All but the last two lists have several pages.
async fn with_cursors(books: &Books) -> Vec<String> {
    let (one, other) = (books.account("user-1").await, books.account("user-1").await);
    books.account("user-1").await;
    for number in 0..3 {
        books.pay(&format!("K-{number}"), &books.outside, &one, "1.00").await;
        books.pay(&format!("L-{number}"), &books.outside, &other, "1.00").await;
    }
    for sub in ["a", "b", "c"] {
        let caller = Client::member(&books.stack, "ledger:operate", "none", sub);
        let posted = caller.post_once(TRANSACTIONS, "same", &payment(&books.outside, &one, "1.00")).await;
        assert_eq!(posted.status, 201, "{}", posted.body);
    }
    let statement = |id: &str| format!("{}/statement?", account(id));
    vec![
        statement(&one),
        statement(&other),
        statement(&books.outside),
        "/ledger/users/user-1/accounts?".to_owned(),
        format!("{TRANSACTIONS}?since=2000-01-01T00:00:00Z"),
        format!("{TRANSACTIONS}?since=2000-01-01T00:00:00.001Z"),
        format!("{TRANSACTIONS}?since=2000-01-01T00:00:00Z&until=9000-01-01T00:00:00Z"),
        format!("{TRANSACTIONS}?idempotencyKey=same"),
        // These lists have no cursor.
        "/ledger/users/user-2/accounts?".to_owned(),
        format!("{TRANSACTIONS}?idempotencyKey=K-1"),
    ]
}

#[tokio::test]
async fn rejects_a_modified_cursor() {
    let books = Books::open().await;
    let lists = with_cursors(&books).await;
    for list in [&lists[0], &lists[3], &lists[4], &lists[7]] {
        let cursor = cursor(&books.operator, list).await;
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(cursor.len() <= 160 && cursor.chars().all(safe), "{cursor}");
        for changed in changes_of(&cursor) {
            must_refuse_cursor(&books.operator, list, &changed).await;
        }
        let next = books.operator.get(&format!("{list}&limit=100&cursor={cursor}")).await;
        let rest = next.body["items"].as_array().map_or(0, Vec::len);
        assert!(next.status == 200 && rest > 0, "the unmodified cursor must be valid: {}", next.body);
    }
    books.stack.stop().await;
}

#[tokio::test]
async fn rejects_a_cursor_of_another_list() {
    let books = Books::open().await;
    let lists = with_cursors(&books).await;
    for from in 0..lists.len() - 2 {
        let cursor = cursor(&books.operator, &lists[from]).await;
        for to in (0..lists.len()).filter(|to| *to != from) {
            must_refuse_cursor(&books.operator, &lists[to], &cursor).await;
        }
    }
    // An explicit default value does not change the list.
    let default = cursor(&books.operator, &format!("{}&status=completed", lists[4])).await;
    assert_eq!(books.operator.get(&format!("{}&cursor={default}", lists[4])).await.status, 200);
    // A cursor is valid only for the caller that received it.
    let own = books.user("user-1");
    for list in [&lists[0], &lists[3]] {
        let (theirs, mine) = (cursor(&books.operator, list).await, cursor(&own, list).await);
        must_refuse_cursor(&own, list, &theirs).await;
        must_refuse_cursor(&books.operator, list, &mine).await;
        assert_eq!(own.get(&format!("{list}&limit=100&cursor={mine}")).await.status, 200);
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
