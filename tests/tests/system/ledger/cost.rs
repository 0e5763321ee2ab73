//! Compares the capacity units that each ledger access pattern consumes with its declared cost, per
//! table and index. The cases cover items of usual and maximum size, two and more legs, and
//! transactions with and without a merchant. Further tests measure rejected requests, and the
//! examples in the [requirement](../../../../docs/requirements/ledger.md#performance-targets).

use ledger::Case;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, Client,
    ledger::{ACCOUNTS, BATCH, Books, HOLDS, Item, MERCHANTS, TRANSACTIONS, batch, hold, id, legs, payment},
    patterns::{cost_of, labels},
    units::{Consumed, bytes, consumed, declared},
};
use table::{
    Units,
    cost::{read, read_eventually, write},
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
        let mut case = Case {
            account: size_of(&self.books.partition(None, &format!("ACCOUNT#{account}")).await),
            of_user: 0,
            transaction: 0,
            of_status: 0,
            leg: 0,
            inbox: 0,
            hold: 0,
            of_hold: 0,
            legs: 0,
            items: 1,
            total: 0,
            totals: 0,
            shards: 4,
            merchant: false,
        };
        let of_user = self.books.partition(Some("GSI1"), &format!("USER#{}", self.size.user)).await;
        case.of_user = of_user.iter().map(bytes).max().unwrap_or_default();
        let Some(transaction) = transaction else { return case };
        let key = format!("TXN#{transaction}");
        let items = self.books.partition(None, &key).await;
        let (headers, legs): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| item["SK"] == text("METADATA"));
        let is_leg = |item: &Item| item["SK"].as_s().is_ok_and(|sort| sort.starts_with("LEG#"));
        let legs: Vec<Item> = legs.into_iter().filter(is_leg).collect();
        case.transaction = size_of(&headers);
        case.merchant = headers[0].contains_key("MerchantID");
        (case.leg, case.legs) = (legs.iter().map(bytes).max().expect("a leg"), legs.len());
        let entries = self.books.partition(Some("GSI1"), "STATUS#completed").await;
        case.of_status = size_of(&entries.into_iter().filter(|entry| entry["PK"] == text(&key)).collect::<Vec<_>>());
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
        let escaped = self.size.user.bytes().fold(String::new(), |path, byte| path + &format!("%{byte:02X}"));
        let list = format!("/ledger/users/{escaped}/accounts");
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
        case.of_hold = size_of(&entries.into_iter().filter(|entry| entry["PK"] == text(&key)).collect::<Vec<_>>());
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
        let created = posted.body["createdAt"].as_str().expect("a time");
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
        // The reversal also reads the original transaction. Reading either transaction consumes the
        // same RRUs.
        assert_eq!(read(case.transaction + case.leg * case.legs), read(undone.transaction + undone.leg * undone.legs));
        self.assert("reverse-transaction", &undone, &reversal);
        let key = format!("{}-b", self.size.key);
        let batched = client.post(BATCH, &batch([(key.as_str(), body.clone())])).await;
        let transaction = batched.body["results"][0]["transaction"]["transactionId"].as_str();
        let case = self.case(Some(transaction.expect("an id")), account).await;
        self.assert("process-batch", &case, &batched);
    }
}

fn text(text: &str) -> aws_sdk_dynamodb::types::AttributeValue {
    aws_sdk_dynamodb::types::AttributeValue::S(text.to_owned())
}

/// Returns the size of the only item.
fn size_of(items: &[Item]) -> usize {
    assert!(items.len() <= 1, "{items:?}");
    items.first().map(bytes).unwrap_or_default()
}

#[tokio::test]
async fn each_pattern_consumes_its_declared_cost() {
    for size in [Size::usual(), Size::largest()] {
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

#[tokio::test]
async fn transactions_with_many_legs_consume_their_declared_cost() {
    for count in [3, 10, 48] {
        let mut measured = Measured::start(Size::usual()).await;
        let mut accounts = Vec::new();
        for number in 0..count {
            accounts.push(measured.funded(number).await);
        }
        let sum = format!("{}.00", count - 1);
        let first = ("debit", accounts[0].as_str(), sum.as_str(), "USD");
        let others = accounts[1..].iter().map(|account| ("credit", account.as_str(), "1.00", "USD"));
        let mut body = legs(std::iter::once(first).chain(others));
        body["description"] = "Coffee purchase".into();
        measured.posts(&body, &accounts[0]).await;
    }
}

/// Equal payments from one account to another.
struct History {
    account: String,
    /// The response to the first payment.
    first: Value,
    /// The total size of the payments in the list by status, and the total size of the account's
    /// legs.
    headers: usize,
    legs: usize,
}

impl History {
    async fn of(measured: &Measured, count: usize) -> Self {
        let (account, till) = (measured.funded(1).await, measured.funded(2).await);
        let shop = json!({"name": "Coffee Shop Inc", "category": "Restaurant"});
        let merchant = id(&measured.books.operator.post(MERCHANTS, &shop).await, "merchantId");
        let mut body = payment(&account, &till, "5.50");
        (body["merchantId"], body["description"]) = (merchant.into(), "Coffee purchase".into());
        let mut first = Value::Null;
        for number in 0..count {
            let key = format!("abc123def{number:03}");
            let paid = measured.books.operator.post_once(TRANSACTIONS, &key, &body).await;
            assert_eq!(paid.status, 201, "{}", paid.body);
            if number == 0 {
                first = paid.body;
            }
        }
        let sum = |mut items: Vec<Item>, sort: &str| {
            items.retain(|item| item["GSI1SK"].as_s().is_ok_and(|key| key.starts_with(sort)));
            items[items.len() - count..].iter().map(bytes).sum()
        };
        let entries = measured.books.partition(Some("GSI1"), "STATUS#completed").await;
        let legs = measured.books.partition(Some("GSI1"), &format!("ACCOUNT#{account}")).await;
        Self { account, first, headers: sum(entries, "CREATED#"), legs: sum(legs, "LEG#") }
    }

    fn list(&self, limit: usize) -> String {
        let since = self.first["createdAt"].as_str().expect("a time");
        format!("{TRANSACTIONS}?since={since}&limit={limit}")
    }

    fn statement(&self, limit: usize) -> String {
        format!("{ACCOUNTS}/{}/statement?limit={limit}", self.account)
    }
}

fn reads(places: &[(&str, Units)]) -> Consumed {
    places.iter().map(|(place, units)| ((*place).to_owned(), (*units, Units::ZERO))).collect()
}

/// Returns the RRUs and WRUs that the request consumed on the table and on each index.
fn units(answer: &Answer) -> Vec<(String, String, String)> {
    consumed(answer).into_iter().map(|(place, (read, write))| (place, read.to_string(), write.to_string())).collect()
}

fn row(place: &str, read: &str, write: &str) -> (String, String, String) {
    (place.to_owned(), read.to_owned(), write.to_owned())
}

/// The performance table of the requirement, and the measured cost. The example payment has a
/// merchant and an idempotency key.
///
/// | operation | requirement | measured |
/// | --- | --- | --- |
/// | get transaction by id | 0.5–1 RCU | 1 RCU, with its legs, strongly consistent |
/// | get transaction and legs | 1–3 RCU | the same 1 RCU |
/// | by status, 100 items | 5–10 RCU | 7 RCU |
/// | check idempotency | 0.5 RCU | 0.5 RCU on the index, and 0.5 RCU for the header |
/// | atomic payment | 6 WCU | 10 WCU of the table and 4 WCU of the indexes, after 2.5 RCU |
/// | account history, 100 items | 5–10 RCU | 6.5 RCU on the index, 1 RCU to check the owner, and 50 RCU for the headers |
///
/// A payment writes five items, not three, and a transaction doubles the units of each item. A
/// payment therefore cannot cost 6 WCU ([decision](../../../../docs/decisions/ledger-costs.md)).
#[tokio::test]
async fn examples_of_the_requirement_consume_the_documented_units() {
    let measured = Measured::start(Size::usual()).await;
    let client = &measured.books.operator;
    let history = History::of(&measured, 100).await;
    let (by_status, statement) = (client.get(&history.list(100)).await, client.get(&history.statement(100)).await);
    for list in [&by_status, &statement] {
        assert_eq!(list.body["items"].as_array().map(Vec::len), Some(100));
    }
    assert_eq!(units(&by_status), [row(TABLE, "50", "0"), row(BY_TIME, "7", "0")], "{} bytes", history.headers);
    assert_eq!(units(&statement), [row(TABLE, "101", "0"), row(BY_TIME, "6.5", "0")], "{} bytes", history.legs);
    let path = format!("{TRANSACTIONS}/{}", history.first["transactionId"].as_str().expect("an id"));
    assert_eq!(units(&client.get(&path).await), [row(TABLE, "1", "0")]);
    let by_key = client.get(&format!("{TRANSACTIONS}?idempotencyKey=abc123def000")).await;
    assert_eq!(units(&by_key), [row(TABLE, "1", "0"), row(BY_KEY, "0.5", "0")]);
    let mut coffee = payment(&history.account, &measured.books.outside, "5.50");
    (coffee["merchantId"], coffee["description"]) = (history.first["merchantId"].clone(), "Coffee purchase".into());
    let paid = client.post_once(TRANSACTIONS, "abc123def456", &coffee).await;
    assert_eq!(paid.status, 201, "{}", paid.body);
    assert_eq!(units(&paid), [row(TABLE, "2.5", "10"), row(BY_TIME, "0", "3"), row(BY_KEY, "0", "1")]);
}

#[tokio::test]
async fn long_lists_consume_their_declared_cost() {
    let mut measured = Measured::start(Size::usual()).await;
    let history = History::of(&measured, 60).await;
    let client = measured.books.operator.clone();
    let case = measured.case(None, &history.account).await;
    // DynamoDB adds up the sizes of the items before it rounds. Querying all items therefore costs
    // as much as querying one item with the total size.
    let case = Case { leg: history.legs, of_status: history.headers, ..case };
    // The headers are read by key, so each one is rounded.
    let statement = client.get(&history.statement(60)).await;
    let wanted = [(TABLE, read(case.account) + Units::halves(120)), (BY_TIME, read_eventually(case.leg))];
    assert_eq!(consumed(&statement), reads(&wanted));
    let listed = client.get(&history.list(60)).await;
    assert_eq!(listed.body["items"].as_array().map(Vec::len), Some(60));
    // All headers have the same size.
    let case = Case { of_status: history.headers / 60, items: 60, ..case };
    measured.assert("list-transactions", &case, &listed);
    for (path, place) in [
        (format!("{TRANSACTIONS}?since=2000-01-01T00:00:00Z&until=2000-01-02T00:00:00Z"), BY_TIME),
        (format!("{TRANSACTIONS}?idempotencyKey=nobodys"), BY_KEY),
        ("/ledger/users/nobody/accounts".to_owned(), BY_TIME),
    ] {
        assert_eq!(consumed(&client.get(&path).await), reads(&[(place, Units::halves(1))]), "{path}");
    }
}

/// For each additional caller with the same key, the request reads one more header and marker.
#[tokio::test]
async fn lookup_by_a_shared_key_reads_one_header_per_caller() {
    let measured = Measured::start(Size::usual()).await;
    for user in ["ann", "bob", "eve"] {
        let account = measured.books.funded(user, "9.00").await;
        let body = payment(&account, &measured.books.outside, "1.00");
        assert_eq!(measured.books.user(user).post_once(TRANSACTIONS, "same", &body).await.status, 201);
    }
    let listed = measured.books.operator.get(&format!("{TRANSACTIONS}?idempotencyKey=same")).await;
    assert_eq!(listed.body["items"].as_array().map(Vec::len), Some(3));
    assert_eq!(consumed(&listed), reads(&[(TABLE, Units::halves(6)), (BY_KEY, Units::halves(1))]));
}

#[tokio::test]
async fn repeated_and_rejected_requests_consume_minimal_units() {
    let measured = Measured::start(Size::usual()).await;
    let (client, outside) = (&measured.books.operator, &measured.books.outside);
    let account = measured.funded(1).await;
    let paid = measured.books.pay("K-1", &account, outside, "5.50").await;
    let looked = reads(&[(TABLE, Units::whole(3))]);
    let again = measured.books.pay("K-1", &account, outside, "5.50").await;
    assert_eq!((&again.body, consumed(&again)), (&paid.body, looked.clone()), "reads both accounts and the outcome");
    let poor = measured.books.pay("K-2", &account, outside, "9999.00").await;
    let once = reads(&[(TABLE, Units::whole(3))]);
    assert_eq!((poor.status, consumed(&poor)), (409, once), "reads the outcome after the rejection");
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
    assert_eq!((undone.status, keyed), (201, Some((Units::ZERO, write(1)))), "the key consumes one WRU");
    let stranger = measured.books.user("eve");
    for answer in [
        client.post(TRANSACTIONS, &json!({})).await,
        stranger.get("/ledger/users/user-1/accounts").await,
        stranger.post(ACCOUNTS, &terms).await,
        Client::member(&measured.books.stack, "ledger:read", "none", "eve").get(TRANSACTIONS).await,
    ] {
        assert!(matches!(answer.status, 400 | 403), "{}", answer.body);
        let header = answer.headers.contains_key(local::CONSUMED);
        assert!(!header || consumed(&answer) == Consumed::new(), "{}", answer.body);
    }
}
