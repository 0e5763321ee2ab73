//! Compares the capacity units that each ledger access pattern consumes with its declared cost, per
//! table and index, for items of usual and maximum size. Further tests measure rejected requests,
//! and the examples in the
//! [requirement](../../../../docs/requirements/ledger.md#performance-targets). The contract has the
//! units of each event.

use aws_sdk_dynamodb::types::AttributeValue;
use ledger::Case;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer,
    ledger::{ACCOUNTS, BATCH, Books, HOLDS, Item, MERCHANTS, NOTHING, TRANSACTIONS, batch, hold, id, legs, payment},
    patterns::{cost_of, labels},
    text,
    units::{Consumed, bytes, consumed, declared},
};
use table::{
    Units,
    cost::{read, write},
};

const TABLE: &str = "FinancialTransactions";
const BY_TIME: &str = "FinancialTransactions/GSI1";
const BY_KEY: &str = "FinancialTransactions/GSI2";

/// The texts that the requests contain.
struct Size {
    user: String,
    words: String,
    key: String,
}

impl Size {
    fn usual() -> Self {
        Self { user: "user-1".to_owned(), words: "Coffee purchase".to_owned(), key: "abc123def456".to_owned() }
    }

    /// Returns long texts. They consist of four-byte characters where the API allows such
    /// characters.
    fn largest() -> Self {
        let wide = |count| "\u{1f4b6}".repeat(count);
        Self { user: wide(128), words: wide(256), key: "k".repeat(120) }
    }
}

/// A ledger, and the functions that were measured on it.
struct Measured {
    books: Books,
    size: Size,
    functions: BTreeSet<String>,
}

impl Measured {
    async fn start(size: Size) -> Self {
        Self { books: Books::open().await, size, functions: BTreeSet::new() }
    }

    fn assert(&mut self, function: &str, case: &Case, answer: &Answer) {
        assert!(matches!(answer.status, 200 | 201), "{function}: {}", answer.body);
        assert_eq!(consumed(answer), declared(&cost_of(&ledger::patterns(), function, case)), "{function} of {case:?}");
        self.functions.insert(function.to_owned());
    }

    /// Returns the input of the cost formulas for a transaction: the sizes of the account, the
    /// header, the legs and the index entries.
    async fn case(&self, transaction: Option<&str>, account: &str) -> Case {
        let account = size_of(&self.books.partition(None, &format!("ACCOUNT#{account}")).await);
        let mut case = Case { account, items: 1, ..NOTHING };
        let of_user = self.books.partition(Some("GSI1"), &format!("USER#{}", self.size.user)).await;
        case.of_user = of_user.iter().map(bytes).max().unwrap_or_default();
        let Some(transaction) = transaction else { return case };
        let key = format!("TXN#{transaction}");
        let items = self.books.partition(None, &key).await;
        let (headers, legs): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| item["SK"] == string("METADATA"));
        let is_leg = |item: &Item| item["SK"].as_s().is_ok_and(|sort| sort.starts_with("LEG#"));
        let legs: Vec<Item> = legs.into_iter().filter(is_leg).collect();
        case.transaction = size_of(&headers);
        case.merchant = headers[0].contains_key("MerchantID");
        (case.leg, case.legs) = (legs.iter().map(bytes).max().expect("a leg"), legs.len());
        // GSI1 does not project TransactionID.
        case.of_account = case.leg - "TransactionID".len() - transaction.len();
        let entries = self.books.partition(Some("GSI1"), "STATUS#completed").await;
        case.of_status = size_of(&entries.into_iter().filter(|entry| entry["PK"] == string(&key)).collect::<Vec<_>>());
        case
    }

    async fn open(&self, kind: &str) -> Answer {
        let terms = json!({"userId": self.size.user, "accountType": kind, "currency": "USD"});
        self.books.operator.post(ACCOUNTS, &terms).await
    }

    async fn funded(&self, number: usize) -> String {
        let account = id(&self.open("checking").await, "accountId");
        let paid = self.books.pay(&format!("fund-{number}"), &self.books.outside, &account, "1500.00").await;
        assert_eq!(paid.status, 201, "{}", paid.body);
        account
    }

    /// Measures the routes that open, read, update and list accounts.
    async fn opens(&mut self) -> String {
        let client = self.books.operator.clone();
        let opened = self.open(&self.size.user).await;
        let account = id(&opened, "accountId");
        let case = self.case(None, &account).await;
        self.assert("create-account, ledger:operate", &case, &opened);
        let path = format!("{ACCOUNTS}/{account}");
        self.assert("get-account", &case, &client.get(&path).await);
        for status in ["frozen", "active"] {
            let changed = client.patch(&path, &json!({"status": status})).await;
            self.assert("update-account", &self.case(None, &account).await, &changed);
        }
        let list = format!("/ledger/users/{}/accounts", escaped(&self.size.user));
        let case = self.case(None, &account).await;
        self.assert("list-user-accounts", &case, &client.get(&list).await);
        let terms = json!({"userId": self.size.user, "accountType": self.size.user, "currency": "USD"});
        // The first account of a user creates the account count, and the second one updates it.
        for _ in 0..2 {
            let own = self.books.user(&self.size.user).post(ACCOUNTS, &terms).await;
            let case = self.case(None, &id(&own, "accountId")).await;
            self.assert("create-account", &case, &own);
        }
        account
    }

    /// Measures the closing of an empty account, and of an account whose balance moves to another
    /// account.
    async fn closes(&mut self) {
        let (from, to) = (self.funded(100).await, self.funded(101).await);
        let path = format!("{ACCOUNTS}/{from}");
        let never_used = format!("{ACCOUNTS}/{}", id(&self.open("checking").await, "accountId"));
        let closed = self.books.operator.patch(&never_used, &json!({"status": "closed"})).await;
        let case = self.case(None, &never_used[ACCOUNTS.len() + 1..]).await;
        self.assert("update-account", &case, &closed);
        let empty = self.funded(102).await;
        let emptied = self.books.pay("empty", &empty, &to, "1500.00").await;
        let closed = self.books.operator.patch(&format!("{ACCOUNTS}/{empty}"), &json!({"status": "closed"})).await;
        let case = self.case(Some(&id(&emptied, "transactionId")), &empty).await;
        self.assert("update-account, closed", &case, &closed);
        let closed = self.books.operator.patch(&path, &json!({"status": "closed", "transferTo": to})).await;
        let statement = self.books.operator.get(&format!("{path}/statement?limit=1")).await;
        let transfer = statement.body["items"][0]["transactionId"].as_str().expect("an id").to_owned();
        let case = self.case(Some(&transfer), &from).await;
        self.assert("update-account, transferTo", &case, &closed);
    }

    /// Returns the input of the cost formulas with the sizes of a hold and its index entry. The
    /// account must be the payer's.
    async fn case_of_hold(&self, hold: &str, transaction: Option<&str>, account: &str) -> Case {
        let key = format!("HOLD#{hold}");
        let mut case = self.case(transaction, account).await;
        case.hold = size_of(&self.books.partition(None, &key).await);
        let entries = self.books.partition(Some("GSI1"), &format!("ACCOUNT#{account}")).await;
        case.of_hold = size_of(&entries.into_iter().filter(|entry| entry["PK"] == string(&key)).collect::<Vec<_>>());
        case
    }

    async fn hold(&self, key: &str, from: &str, to: &str, amount: &str) -> Answer {
        self.books.operator.post_once(HOLDS, key, &hold(from, to, amount)).await
    }

    /// Measures the routes that open, read, capture, void and release holds.
    async fn holds(&mut self) {
        let (from, to) = (self.funded(200).await, self.funded(201).await);
        let opened = self.hold(&self.size.key, &from, &to, "5.50").await;
        let id_of_hold = id(&opened, "holdId");
        let open = self.case_of_hold(&id_of_hold, None, &from).await;
        self.assert("create-hold", &open, &opened);
        let path = format!("{HOLDS}/{id_of_hold}");
        self.assert("get-hold", &open, &self.books.operator.get(&path).await);
        let list = format!("{ACCOUNTS}/{from}/holds");
        self.assert("list-account-holds", &open, &self.books.operator.get(&list).await);
        for (key, amount, function) in [("part", "1.50", "capture-hold, part"), ("rest", "4.00", "capture-hold")] {
            let body = json!({"amount": amount});
            let captured = self.books.operator.post_once(&format!("{path}/capture"), key, &body).await;
            let transaction = id(&captured, "transactionId");
            let case = self.case_of_hold(&id_of_hold, Some(&transaction), &from).await;
            self.assert(function, &Case { of_hold: open.of_hold, hold: open.hold, ..case }, &captured);
        }
        let other = id(&self.hold("void", &from, &to, "5.50").await, "holdId");
        let open = self.case_of_hold(&other, None, &from).await;
        let voided = self.books.operator.post_once(&format!("{HOLDS}/{other}/void"), "void", &json!({})).await;
        self.assert("void-hold", &open, &voided);
        let third = id(&self.hold("expire", &from, &to, "5.50").await, "holdId");
        let open = self.case_of_hold(&third, None, &from).await;
        let later = json!({"detail-type": "Scheduled Event", "time": "2099-01-01T00:00:00Z"});
        let released = self.books.operator.invoke("release-expired-holds", &later).await;
        assert_eq!(released.body, json!({"released": 1, "left": false}));
        self.assert("release-expired-holds", &open, &released);
    }

    /// Measures the routes of accounts with grouped posting.
    async fn groups(&mut self) {
        let client = self.books.operator.clone();
        let terms = json!({"userId": self.size.user, "accountType": "market", "currency": "USD", "posting": "grouped"});
        let market = id(&client.post(ACCOUNTS, &terms).await, "accountId");
        let path = format!("{ACCOUNTS}/{market}");
        self.assert("get-account, grouped", &self.case(None, &market).await, &client.get(&path).await);
        // The grouped credit is smaller than other legs of the same owner.
        let from = self.books.outside.clone();
        let paid = self.books.pay("grouped", &from, &market, "5.50").await;
        // All ids of an inbox item are generated, so it has at most 1 KB.
        let case = Case { inbox: 500, ..self.case(Some(&id(&paid, "transactionId")), &from).await };
        self.assert("process-payment, grouped", &case, &paid);
        let other = id(&self.open("checking").await, "accountId");
        let changed = client.patch(&format!("{ACCOUNTS}/{other}"), &json!({"posting": "grouped"})).await;
        self.assert("update-account, posting", &self.case(None, &other).await, &changed);
        let closing = client.patch(&format!("{ACCOUNTS}/{other}"), &json!({"status": "closed"})).await;
        assert_eq!(closing.body["status"], "closing");
        self.assert("update-account, grouped", &self.case(None, &other).await, &closing);
    }

    /// Measures the routes of merchants. In the cost input, the field `account` is the size of a
    /// merchant.
    async fn records_a_merchant(&mut self) -> String {
        let name: String = self.size.words.chars().take(128).collect();
        let made = self.books.operator.post(MERCHANTS, &json!({"name": name, "category": name})).await;
        let merchant = id(&made, "merchantId");
        let account = size_of(&self.books.partition(None, &format!("MERCHANT#{merchant}")).await);
        let case = Case { account, ..self.case(None, "nobody").await };
        self.assert("create-merchant", &case, &made);
        self.assert("get-merchant", &case, &self.books.operator.get(&format!("{MERCHANTS}/{merchant}")).await);
        self.assert("list-merchants", &case, &self.books.operator.get(MERCHANTS).await);
        merchant
    }

    /// Measures a transaction with many legs, each on another account.
    async fn many_legs(&mut self, count: usize) {
        let mut accounts = Vec::new();
        for number in 0..count {
            accounts.push(self.funded(300 + number).await);
        }
        let sum = format!("{}.00", count - 1);
        let first = ("debit", accounts[0].as_str(), sum.as_str(), "USD");
        let others = accounts[1..].iter().map(|account| ("credit", account.as_str(), "1.00", "USD"));
        let mut body = legs(std::iter::once(first).chain(others));
        body["description"] = self.size.words.as_str().into();
        self.size.key.replace_range(..1, "2");
        self.posts(&body, &accounts[0]).await;
    }

    /// Measures the routes that post, read, list and reverse a transaction.
    async fn posts(&mut self, body: &Value, account: &str) {
        let client = self.books.operator.clone();
        let posted = client.post_once(TRANSACTIONS, &self.size.key, body).await;
        let transaction = id(&posted, "transactionId");
        let case = self.case(Some(&transaction), account).await;
        self.assert("process-payment", &case, &posted);
        let path = format!("{TRANSACTIONS}/{transaction}");
        self.assert("get-transaction", &case, &client.get(&path).await);
        let by_key = client.get(&format!("{TRANSACTIONS}?idempotencyKey={}", self.size.key)).await;
        self.assert("list-transactions, idempotencyKey", &case, &by_key);
        let created = text(&posted.body, "createdAt");
        let listed = client.get(&format!("{TRANSACTIONS}?since={created}&until={created}")).await;
        assert_eq!(listed.body["items"].as_array().map(Vec::len), Some(1));
        self.assert("list-transactions", &case, &listed);
        let statement = client.get(&format!("{ACCOUNTS}/{account}/statement?limit=1")).await;
        self.assert("get-statement", &case, &statement);
        let (of_account, period) = (format!("{ACCOUNTS}/{account}"), format!("from={created}&to={created}"));
        let statement = client.get(&format!("{of_account}/statement?{period}")).await;
        self.assert("get-statement, from and to", &case, &statement);
        self.assert("get-balance", &case, &client.get(&format!("{of_account}/balance")).await);
        self.assert("get-balance, at", &case, &client.get(&format!("{of_account}/balance?at={created}")).await);
        let reversal = client.post(&format!("{path}/reversal"), &json!({})).await;
        let undone = self.case(Some(&id(&reversal, "transactionId")), account).await;
        // The reversal reads the original legs. Writing its own legs consumes as many units as
        // writing the original ones.
        assert_eq!(write(case.leg).units(), write(undone.leg).units());
        let undone = Case { leg: case.leg, ..undone };
        assert_eq!(read(case.transaction + case.leg * case.legs), read(undone.transaction + undone.leg * undone.legs));
        self.assert("reverse-transaction", &undone, &reversal);
        let key = format!("{}-b", self.size.key);
        let batched = client.post(BATCH, &batch([(key.as_str(), body.clone())])).await;
        let transaction = batched.body["results"][0]["transaction"]["transactionId"].as_str();
        let case = self.case(Some(transaction.expect("an id")), account).await;
        self.assert("process-batch", &case, &batched);
        self.refers(body, account).await;
    }

    /// Measures a transaction with a reference and metadata, and the list by reference.
    async fn refers(&mut self, body: &Value, account: &str) {
        let client = self.books.operator.clone();
        let number = self.size.key.chars().take(1);
        let reference: String = number.chain(self.size.words.chars().cycle()).take(64).collect();
        let mut body = body.clone();
        (body["reference"], body["metadata"]) = (reference.as_str().into(), json!({"till": reference}));
        let posted = client.post_once(TRANSACTIONS, &format!("{}-c", self.size.key), &body).await;
        let case = self.case(Some(&id(&posted, "transactionId")), account).await;
        self.assert("process-payment, reference", &case, &posted);
        let listed = client.get(&format!("{TRANSACTIONS}?reference={}", escaped(&reference))).await;
        assert_eq!(listed.body["items"].as_array().map(Vec::len), Some(1), "{}", listed.body);
        self.assert("list-transactions, reference", &case, &listed);
    }
}

/// Percent-encodes all bytes of a text.
fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |path, byte| path + &format!("%{byte:02X}"))
}

fn string(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// Returns the size of the only item.
fn size_of(items: &[Item]) -> usize {
    assert!(items.len() <= 1, "{items:?}");
    items.first().map(bytes).unwrap_or_default()
}

#[tokio::test]
async fn each_pattern_consumes_its_declared_cost() {
    for (size, is_usual) in [(Size::usual(), true), (Size::largest(), false)] {
        let mut measured = Measured::start(size).await;
        measured.opens().await;
        let merchant = measured.records_a_merchant().await;
        for (number, merchant) in [None, Some(merchant)].into_iter().enumerate() {
            let (from, to) = (measured.funded(2 * number).await, measured.funded(2 * number + 1).await);
            let mut body = payment(&from, &to, "5.50");
            body["description"] = measured.size.words.as_str().into();
            if let Some(merchant) = merchant {
                body["merchantId"] = merchant.into();
            }
            measured.size.key.replace_range(..1, &number.to_string());
            measured.posts(&body, &from).await;
        }
        if is_usual {
            measured.many_legs(48).await;
        }
        measured.closes().await;
        measured.holds().await;
        measured.groups().await;
        // The tests of the reconciliation, of grouped posting and of the totals measure the other
        // patterns.
        let elsewhere = ["L8", "L11", "L14", "L15"];
        let patterns = ledger::patterns().into_iter().filter(|pattern| !elsewhere.contains(&pattern.id));
        let patterns: Vec<_> = patterns.collect();
        assert_eq!(measured.functions, labels(&patterns), "every pattern must be measured");
    }
}

fn reads(places: &[(&str, Units)]) -> Consumed {
    places.iter().map(|(place, units)| ((*place).to_owned(), (*units, Units::ZERO))).collect()
}

/// Returns the RRUs and WRUs that the request consumed on the table and on each index.
fn units(answer: &Answer) -> Vec<String> {
    consumed(answer).into_iter().map(|(place, (read, write))| format!("{place} {read}/{write}")).collect()
}

/// The examples of the requirement's performance table, with a merchant and an idempotency key. The
/// decision [ledger-costs.md](../../../../docs/decisions/ledger-costs.md) compares the units.
#[tokio::test]
async fn examples_of_the_requirement_consume_the_documented_units() {
    let measured = Measured::start(Size::usual()).await;
    let client = &measured.books.operator;
    let (account, till) = (measured.funded(1).await, measured.funded(2).await);
    let shop = json!({"name": "Coffee Shop Inc", "category": "Restaurant"});
    let mut coffee = payment(&account, &till, "5.50");
    coffee["merchantId"] = id(&client.post(MERCHANTS, &shop).await, "merchantId").into();
    coffee["description"] = "Coffee purchase ".repeat(4)[..60].into();
    let mut answers = Vec::new();
    for number in 0..100 {
        answers.push(client.post_once(TRANSACTIONS, &format!("abc123def{number:03}"), &coffee).await);
    }
    let (first, last) = (&answers[0], &answers[99]);
    let lists = [
        format!("{TRANSACTIONS}?since={}&limit=100", text(&first.body, "createdAt")),
        format!("{ACCOUNTS}/{account}/statement?limit=100"),
    ];
    let [by_status, statement] = [client.get(&lists[0]).await, client.get(&lists[1]).await];
    for list in [&by_status, &statement] {
        assert_eq!(list.body["items"].as_array().map(Vec::len), Some(100));
    }
    let one = client.get(&format!("{TRANSACTIONS}/{}", id(first, "transactionId"))).await;
    let by_key = client.get(&format!("{TRANSACTIONS}?idempotencyKey=abc123def000")).await;
    for (answer, places) in [
        (&by_status, vec!["/GSI1 8/0"]),
        (&statement, vec![" 0.5/0", "/GSI1 8.5/0", "/GSI2 0.5/0"]),
        (&one, vec![" 0.5/0"]),
        (&by_key, vec![" 0.5/0", "/GSI2 0.5/0"]),
        (last, vec![" 2.5/10", "/GSI1 0/3", "/GSI2 0/1"]),
    ] {
        let places = places.into_iter().map(|units| format!("{TABLE}{units}"));
        assert_eq!(units(answer), places.collect::<Vec<_>>());
    }
    for (path, place) in [
        (format!("{TRANSACTIONS}?since=2000-01-01T00:00:00Z&until=2000-01-02T00:00:00Z"), BY_TIME),
        (format!("{TRANSACTIONS}?idempotencyKey=nobodys"), BY_KEY),
        ("/ledger/users/nobody/accounts".to_owned(), BY_TIME),
    ] {
        assert_eq!(consumed(&client.get(&path).await), reads(&[(place, Units::halves(1))]), "{path}");
    }
}

#[tokio::test]
async fn repeated_and_rejected_requests_consume_minimal_units() {
    let measured = Measured::start(Size::usual()).await;
    let (client, outside) = (&measured.books.operator, &measured.books.outside);
    let account = measured.funded(1).await;
    let paid = measured.books.pay("K-1", &account, outside, "5.50").await;
    let three = reads(&[(TABLE, Units::whole(3))]);
    let again = measured.books.pay("K-1", &account, outside, "5.50").await;
    assert_eq!((&again.body, consumed(&again)), (&paid.body, three.clone()), "reads both accounts and the outcome");
    let poor = measured.books.pay("K-2", &account, outside, "9999.00").await;
    assert_eq!((poor.status, consumed(&poor)), (409, three), "reads the outcome after the rejection");
    let terms = json!({"userId": "user-1", "accountType": "checking", "currency": "USD"});
    let opened = client.post_once(ACCOUNTS, "K-1", &terms).await;
    assert_eq!(opened.status, 201);
    let path = format!("{ACCOUNTS}/{}", id(&opened, "accountId"));
    let same = client.patch(&path, &json!({"status": "active"})).await;
    assert_eq!(
        (same.status, consumed(&same)),
        (200, reads(&[(TABLE, Units::whole(1))])),
        "an unchanged status writes nothing"
    );
    let reversal = format!("{TRANSACTIONS}/{}/reversal", id(&paid, "transactionId"));
    let undone = client.post_once(&reversal, "K-3", &json!({})).await;
    let keyed = consumed(&undone).remove(BY_KEY);
    assert_eq!((undone.status, keyed), (201, Some((Units::ZERO, Units::whole(3)))), "the key and both legs");
    let refused = client.post(TRANSACTIONS, &json!({})).await;
    let is_free = !refused.headers.contains_key(local::CONSUMED) || consumed(&refused) == Consumed::new();
    assert_eq!((refused.status, is_free), (400, true), "{}", refused.body);
}
