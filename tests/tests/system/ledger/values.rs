//! Tests of the examples in the [requirement](../../../../docs/requirements/ledger.md): the stored
//! values, and the results of the required queries. Further tests check that amounts are exact to
//! 38 digits.

use aws_sdk_dynamodb::{operation::query::builders::QueryFluentBuilder, types::AttributeValue};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, assert_problem,
    clock::{At, time},
    ledger::{ACCOUNTS, Books, Item, MERCHANTS, TRANSACTIONS, id, legs, payment},
    requests::{faults_of, sent},
    send,
};

const KEY: &str = "abc123def456";
const NOON: &str = "2026-01-02T10:30:00.123Z";
const USER: &str = "770g0622-e29b-41d4-a716-446655440000";

/// The example of the requirement. An account with a balance of 1500.00 pays 5.50 for a coffee into
/// the merchant's account (`till`).
struct Example {
    books: Books,
    merchant: String,
    account: String,
    till: String,
    coffee: Answer,
}

impl Example {
    async fn start() -> Self {
        let books = Books::open().await;
        let noon = books.at(time(NOON));
        let shop = json!({"name": "Coffee Shop Inc", "category": "Restaurant"});
        let merchant = id(&noon.post(MERCHANTS, &shop).await, "merchantId");
        let terms = |user: &str| json!({"userId": user, "accountType": "checking", "currency": "USD"});
        let account = id(&noon.post(ACCOUNTS, &terms(USER)).await, "accountId");
        let till = id(&noon.post(ACCOUNTS, &terms("coffee-shop")).await, "accountId");
        let before = books.at(time("2026-01-01T00:00:00Z"));
        let funds = payment(&books.outside, &account, "1500.00");
        assert_eq!(before.post_once(TRANSACTIONS, "funds", &funds).await.status, 201);
        let mut purchase = payment(&account, &till, "5.50");
        purchase["merchantId"] = merchant.as_str().into();
        purchase["description"] = "Coffee purchase".into();
        let coffee = noon.post_once(TRANSACTIONS, KEY, &purchase).await;
        assert_eq!(coffee.status, 201, "{}", coffee.body);
        Self { books, merchant, account, till, coffee }
    }

    fn transaction(&self) -> &str {
        self.coffee.body["transactionId"].as_str().expect("an id")
    }

    fn leg(&self, index: usize) -> &str {
        self.coffee.body["legs"][index]["legId"].as_str().expect("an id")
    }

    /// Reads an item by its primary key.
    async fn item(&self, partition: &str, sort: &str) -> Item {
        let get = self.books.stack.client().expect("a client").get_item().table_name(self.books.table());
        let get = get.key("PK", text(partition)).key("SK", text(sort));
        get.send().await.expect("an answer").item.expect("an item")
    }

    /// Returns the primary keys of the query results, in order.
    async fn found(&self, query: impl FnOnce(QueryFluentBuilder) -> QueryFluentBuilder) -> Vec<(String, String)> {
        let query = query(self.books.stack.client().expect("a client").query().table_name(self.books.table()));
        let items = query.send().await.expect("an answer").items.expect("items");
        items.iter().map(|item| (shown(&item["PK"]), shown(&item["SK"]))).collect()
    }
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// Returns the type and the value of an attribute.
fn shown(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => format!("S {text}"),
        AttributeValue::N(number) => format!("N {number}"),
        other => format!("{other:?}"),
    }
}

/// Asserts that the item has these attributes.
fn assert_has(item: &Item, attributes: &[(&str, &str)]) {
    for (name, value) in attributes {
        assert_eq!(item.get(*name).map(shown).as_deref(), Some(*value), "{name} of {item:?}");
    }
}

#[tokio::test]
async fn stores_the_required_merchant_and_account_as_specified() {
    let example = Example::start().await;
    let merchant = &example.merchant;
    assert_has(
        &example.item(&format!("MERCHANT#{merchant}"), "METADATA").await,
        &[
            ("PK", &format!("S MERCHANT#{merchant}")),
            ("SK", "S METADATA"),
            ("Type", "S Merchant"),
            ("ID", &format!("S {merchant}")),
            ("Name", "S Coffee Shop Inc"),
            ("Category", "S Restaurant"),
        ],
    );
    let account = &example.account;
    assert_has(
        &example.item(&format!("ACCOUNT#{account}"), "METADATA").await,
        &[
            ("PK", &format!("S ACCOUNT#{account}")),
            ("SK", "S METADATA"),
            ("GSI1PK", &format!("S USER#{USER}")),
            ("GSI1SK", &format!("S ACCOUNT#{account}")),
            ("Type", "S Account"),
            ("ID", &format!("S {account}")),
            ("UserID", &format!("S {USER}")),
            ("AccountType", "S checking"),
            ("Balance", "N 1494.5"),
            ("Currency", "S USD"),
            ("Status", "S active"),
        ],
    );
    example.books.stack.stop().await;
}

#[tokio::test]
async fn stores_the_required_payment_as_specified() {
    let example = Example::start().await;
    let (transaction, merchant) = (example.transaction(), &example.merchant);
    let partition = format!("TXN#{transaction}");
    assert_has(
        &example.item(&partition, "METADATA").await,
        &[
            ("PK", &format!("S {partition}")),
            ("SK", "S METADATA"),
            ("GSI1PK", "S STATUS#completed"),
            ("GSI1SK", "S CREATED#2026-01-02T10:30:00.123Z"),
            ("GSI2PK", "S IDEMPOTENCY#abc123def456"),
            ("GSI2SK", "S TXN"),
            ("Type", "S Transaction"),
            ("ID", &format!("S {transaction}")),
            ("IdempotencyKey", "S abc123def456"),
            ("TransactionType", "S payment"),
            ("Status", "S completed"),
            ("MerchantID", &format!("S {merchant}")),
            ("Description", "S Coffee purchase"),
            ("Amount", "N 5.5"),
            ("CreatedAt", &format!("S {NOON}")),
        ],
    );
    for (index, (kind, account, after)) in
        [("debit", &example.account, "N 1494.5"), ("credit", &example.till, "N 5.5")].into_iter().enumerate()
    {
        let leg = example.leg(index);
        assert_has(
            &example.item(&partition, &format!("LEG#{leg}")).await,
            &[
                ("PK", &format!("S {partition}")),
                ("SK", &format!("S LEG#{leg}")),
                ("GSI1PK", &format!("S ACCOUNT#{account}")),
                ("GSI1SK", &format!("S LEG#2026-01-02T10:30:00.123Z#{leg}")),
                ("Type", "S TransactionLeg"),
                ("ID", &format!("S {leg}")),
                ("TransactionID", &format!("S {transaction}")),
                ("AccountID", &format!("S {account}")),
                ("LegType", &format!("S {kind}")),
                ("Amount", "N 5.5"),
                ("Currency", "S USD"),
                ("CreatedAt", &format!("S {NOON}")),
                ("BalanceAfter", after),
            ],
        );
    }
    assert_eq!(example.books.partition(None, &partition).await.len(), 3);
    example.books.stack.stop().await;
}

#[tokio::test]
async fn required_queries_find_the_payment() {
    let example = Example::start().await;
    let key = |partition: &str, sort: &str| (format!("S {partition}"), format!("S {sort}"));
    let txn = format!("TXN#{}", example.transaction());
    let (header, first, second) = (
        key(&txn, "METADATA"),
        key(&txn, &format!("LEG#{}", example.leg(0))),
        key(&txn, &format!("LEG#{}", example.leg(1))),
    );
    let account = key(&format!("ACCOUNT#{}", example.account), "METADATA");
    let by_user = example.found(|query| {
        query
            .index_name("GSI1")
            .key_condition_expression("GSI1PK = :user")
            .expression_attribute_values(":user", text(&format!("USER#{USER}")))
    });
    assert_eq!(by_user.await, [account]);
    let of_the_day = example.found(|query| {
        query
            .index_name("GSI1")
            .key_condition_expression("GSI1PK = :status AND GSI1SK >= :since")
            .expression_attribute_values(":status", text("STATUS#completed"))
            .expression_attribute_values(":since", text("CREATED#2026-01-01T10:30:00.000Z"))
    });
    assert_eq!(of_the_day.await, std::slice::from_ref(&header), "the funding payment is older than the range");
    let in_range = example.found(|query| {
        query
            .index_name("GSI1")
            .key_condition_expression("GSI1PK = :status AND GSI1SK BETWEEN :start AND :end")
            .expression_attribute_values(":status", text("STATUS#completed"))
            .expression_attribute_values(":start", text("CREATED#2026-01-01T00:00:00.000Z"))
            .expression_attribute_values(":end", text("CREATED#2026-01-31T23:59:59.999Z"))
    });
    let month = in_range.await;
    assert_eq!((month.len(), &month[1]), (2, &header));
    let by_key = example.found(|query| {
        query
            .index_name("GSI2")
            .key_condition_expression("GSI2PK = :key")
            .expression_attribute_values(":key", text("IDEMPOTENCY#abc123def456"))
    });
    assert_eq!(by_key.await, std::slice::from_ref(&header));
    let collection = example
        .found(|query| query.key_condition_expression("PK = :txn").expression_attribute_values(":txn", text(&txn)));
    assert_eq!(collection.await, [first.clone(), second, header]);
    let history = example.found(|query| {
        query
            .index_name("GSI1")
            .key_condition_expression("GSI1PK = :account AND begins_with(GSI1SK, :prefix)")
            .expression_attribute_values(":account", text(&format!("ACCOUNT#{}", example.account)))
            .expression_attribute_values(":prefix", text("LEG#"))
            .scan_index_forward(false)
            .limit(100)
    });
    let history = history.await;
    assert_eq!((history.len(), &history[0]), (2, &first), "newest first");
    example.books.stack.stop().await;
}

#[tokio::test]
async fn returns_the_same_payment_from_every_route() {
    let example = Example::start().await;
    let (books, account) = (&example.books, &example.account);
    let leg = |index: usize, kind: &str, of: &str, after: &str| {
        json!({
            "legId": example.leg(index), "transactionId": example.transaction(), "accountId": of, "legType": kind,
            "amount": "5.50", "currency": "USD", "balanceAfter": after, "createdAt": NOON,
        })
    };
    let mut header = json!({
        "transactionId": example.transaction(), "status": "completed", "transactionType": "payment", "amount": "5.50",
        "currency": "USD", "merchantId": example.merchant, "description": "Coffee purchase", "idempotencyKey": KEY,
        "createdBy": "tester", "createdAt": NOON,
    });
    let at_noon = books.at(time(NOON));
    let listed = at_noon.get(&format!("{TRANSACTIONS}?status=completed")).await;
    assert_eq!(listed.body, json!({"items": [header]}));
    assert_eq!(at_noon.get(&format!("{TRANSACTIONS}?idempotencyKey={KEY}")).await.body, listed.body);
    let legs = [leg(0, "debit", account, "1494.50"), leg(1, "credit", &example.till, "5.50")];
    header["legs"] = json!(legs);
    assert_eq!(example.coffee.body, header);
    let location = example.coffee.headers["location"].to_str().expect("text");
    assert_eq!(location, format!("{TRANSACTIONS}/{}", example.transaction()));
    assert_eq!(books.operator.get(location).await.body, header);
    let statement = books.operator.get(&format!("{ACCOUNTS}/{account}/statement")).await;
    let mut listed = legs[0].clone();
    for name in ["transactionType", "description", "merchantId"] {
        listed[name] = header[name].clone();
    }
    listed["counterpartyAccountId"] = json!(example.till);
    assert_eq!(statement.body["items"][0], listed);
    assert_eq!(statement.body["items"][1]["balanceAfter"], "1500.00");
    let accounts = books.operator.get(&format!("/ledger/users/{USER}/accounts")).await.body;
    assert_eq!((&accounts["items"][0]["balance"], &accounts["items"][1]), (&json!("1494.50"), &Value::Null));
    let merchant = books.operator.get(&format!("{MERCHANTS}/{}", example.merchant)).await.body;
    assert_eq!(
        merchant,
        json!({"merchantId": example.merchant, "name": "Coffee Shop Inc", "category": "Restaurant", "createdAt": NOON})
    );
    example.books.stack.stop().await;
}

/// Opens a funding account and an account with a balance of zero, both in the given currency.
async fn pair(books: &Books, currency: &str) -> (String, String) {
    let terms = json!({"userId": "user-1", "accountType": "checking", "currency": currency});
    (books.source(currency).await, id(&books.operator.post(ACCOUNTS, &terms).await, "accountId"))
}

/// Posts a payment whose amount is given as raw JSON.
async fn pay(books: &Books, key: &str, from: &str, to: &str, amount: &str, currency: &str) -> Answer {
    let accounts = format!(r#""transactionType": "payment", "debitAccountId": "{from}", "creditAccountId": "{to}""#);
    let body = format!(r#"{{{accounts}, "amount": {amount}, "currency": "{currency}"}}"#);
    send(sent(&books.operator, "POST", TRANSACTIONS, body).header("idempotency-key", key)).await
}

/// Amounts: the JSON in the request, the currency, and the value in the response.
const AMOUNTS: [(&str, &str, &str); 18] = [
    ("0.1", "USD", "0.10"),
    ("\"0.10\"", "USD", "0.10"),
    ("5.50", "USD", "5.50"),
    ("\"5.5\"", "USD", "5.50"),
    ("5", "USD", "5.00"),
    ("1.10", "EUR", "1.10"),
    ("0.29", "EUR", "0.29"),
    ("5.5000", "USD", "5.50"),
    ("9007199254740993", "USD", "9007199254740993.00"),
    ("12345678901234567890.12", "USD", "12345678901234567890.12"),
    ("\"12345678901234567890.12\"", "USD", "12345678901234567890.12"),
    ("100", "JPY", "100"),
    ("100.00", "JPY", "100"),
    ("1", "JPY", "1"),
    ("0.001", "KWD", "0.001"),
    ("\"1.5\"", "KWD", "1.500"),
    ("12.345", "KWD", "12.345"),
    ("100000000000000000000000000000000000.00", "USD", "100000000000000000000000000000000000.00"),
];

#[tokio::test]
async fn keeps_amounts_exactly_from_strings_and_numbers() {
    let books = Books::open().await;
    for (number, (sent_as, currency, amount)) in AMOUNTS.into_iter().enumerate() {
        let (from, to) = pair(&books, currency).await;
        let paid = pay(&books, &format!("K-{number}"), &from, &to, sent_as, currency).await;
        assert_eq!((paid.status, &paid.body["amount"]), (201, &json!(amount)), "{sent_as} {currency}: {}", paid.body);
        for (leg, after) in [(0, format!("-{amount}")), (1, amount.to_owned())] {
            let leg = &paid.body["legs"][leg];
            assert_eq!((&leg["amount"], &leg["balanceAfter"]), (&json!(amount), &json!(after)));
        }
        let location = paid.headers["location"].to_str().expect("text");
        assert_eq!(books.operator.get(location).await.body, paid.body);
        assert_eq!([books.balance(&from).await, books.balance(&to).await], [format!("-{amount}"), amount.to_owned()]);
    }
    books.stack.stop().await;
}

#[tokio::test]
async fn sum_of_10_and_20_cents_is_exact() {
    let books = Books::open().await;
    let account = books.account("user-1").await;
    for (key, amount, after) in [("K-1", "0.10", "0.10"), ("K-2", "0.20", "0.30")] {
        let paid = books.pay(key, &books.outside, &account, amount).await;
        assert_eq!(paid.body["legs"][1]["balanceAfter"], after, "{}", paid.body);
    }
    assert_eq!(books.balance(&account).await, "0.30");
    let stored = books.partition(None, &format!("ACCOUNT#{account}")).await;
    assert_has(&stored[0], &[("Balance", "N 0.3")]);
    books.stack.stop().await;
}

#[tokio::test]
async fn accepts_38_digits_and_rejects_39() {
    let books = Books::open().await;
    let (all, most) = ("9".repeat(36), format!("{}.99", "9".repeat(36)));
    let account = books.account("user-1").await;
    let usd = |key: &'static str, from: &str, to: &str, amount: &str| {
        let (from, to, amount) = (from.to_owned(), to.to_owned(), amount.to_owned());
        let books = &books;
        async move { books.pay(key, &from, &to, &amount).await }
    };
    assert_eq!(usd("K-1", &books.outside, &account, &format!("{all}.98")).await.status, 201);
    let paid = usd("K-2", &books.outside, &account, "0.01").await;
    assert_eq!(paid.body["legs"][1]["balanceAfter"], most, "{}", paid.body);
    let stored = books.stored().await;
    for (key, from, to) in [("K-3", &books.outside, &account), ("K-4", &books.source("USD").await, &account)] {
        assert_problem(&usd(key, from, to, "0.01").await, 409, "balance-too-large");
    }
    assert_eq!(books.stored().await.len(), stored.len() + 1, "only the new source account is stored");
    assert_eq!(
        [books.balance(&account).await, books.balance(&books.outside).await],
        [most.clone(), format!("-{most}")]
    );
    let statement = books.operator.get(&format!("{ACCOUNTS}/{account}/statement")).await.body;
    assert_eq!(statement["items"][0]["balanceAfter"], most);
    assert_eq!(usd("K-5", &account, &books.outside, &most).await.status, 201, "the whole balance can be paid back");
    assert_eq!([books.balance(&account).await, books.balance(&books.outside).await], ["0.00", "0.00"]);
    books.stack.stop().await;
}

/// Invalid amounts in JSON, each with a currency.
const NO_AMOUNTS: [(&str, &str); 46] = [
    ("5.505", "USD"),
    ("\"5.505\"", "USD"),
    ("0.001", "EUR"),
    ("1.5", "JPY"),
    ("\"0.1\"", "JPY"),
    ("0.0001", "KWD"),
    ("-5.50", "USD"),
    ("\"-5.50\"", "USD"),
    ("-0.01", "USD"),
    ("0", "USD"),
    ("\"0.00\"", "USD"),
    ("-0", "USD"),
    ("\"-0.00\"", "USD"),
    ("0", "JPY"),
    ("\"NaN\"", "USD"),
    ("\"Infinity\"", "USD"),
    ("\"-Infinity\"", "USD"),
    ("1e400", "USD"),
    ("\"1e400\"", "USD"),
    ("1e2", "USD"),
    ("\"1E2\"", "USD"),
    ("1e-2", "USD"),
    ("\"1,000\"", "USD"),
    ("\"1,00\"", "USD"),
    ("\"1 000\"", "USD"),
    ("\"1_000\"", "USD"),
    ("\"\"", "USD"),
    ("\" 5\"", "USD"),
    ("\"5 \"", "USD"),
    ("\"+5\"", "USD"),
    ("\"--5\"", "USD"),
    ("\"5.\"", "USD"),
    ("\".5\"", "USD"),
    ("\".\"", "USD"),
    ("\"05\"", "USD"),
    ("\"0x5\"", "USD"),
    ("\"$5\"", "USD"),
    ("\"5 USD\"", "USD"),
    ("\"\\u0665\"", "USD"),
    ("\"5\\n\"", "USD"),
    ("null", "USD"),
    ("true", "USD"),
    ("[5]", "USD"),
    ("{\"amount\": 5}", "USD"),
    ("999999999999999999999999999999999999999", "JPY"),
    ("\"1000000000000000000000000000000000000.00\"", "USD"),
];

#[tokio::test]
async fn rejects_invalid_amounts() {
    let books = Books::open().await;
    let before = books.stored().await.len();
    for (amount, currency) in NO_AMOUNTS {
        let paid = pay(&books, "K-1", "A-1", "A-2", amount, currency).await;
        assert_eq!((paid.status, faults_of(&paid.body)), (400, BTreeSet::from(["/body/amount"])), "{amount}");
        let leg = |kind: &str, account: &str| {
            format!(
                r#"{{"accountId": "{account}", "legType": "{kind}", "amount": {amount}, "currency": "{currency}"}}"#
            )
        };
        let body = format!(r#"{{"legs": [{}, {}]}}"#, leg("debit", "A-1"), leg("credit", "A-2"));
        let posted = send(sent(&books.operator, "POST", TRANSACTIONS, body).header("idempotency-key", "K-1")).await;
        let faults = faults_of(&posted.body);
        let of_legs = faults.iter().all(|pointer| pointer.starts_with("/body/legs"));
        assert!(posted.status == 400 && !faults.is_empty() && of_legs, "{amount}: {}", posted.body);
    }
    for literal in ["NaN", "Infinity", "+5", ".5", "05", "5.", "1,000", "0x5"] {
        let paid = pay(&books, "K-1", "A-1", "A-2", literal, "USD").await;
        assert_eq!((paid.status, faults_of(&paid.body)), (400, BTreeSet::from(["/body"])), "invalid JSON {literal}");
    }
    assert_eq!(books.stored().await.len(), before);
    books.stack.stop().await;
}

/// A transaction in two currencies must balance in each currency, and its header has no amount.
#[tokio::test]
async fn transaction_in_two_currencies_balances_in_each_currency() {
    let books = Books::open().await;
    let ((dollars, purse), (yen, wallet)) = (pair(&books, "USD").await, pair(&books, "JPY").await);
    let conversion = legs([
        ("debit", dollars.as_str(), "10.00", "USD"),
        ("credit", purse.as_str(), "10", "USD"),
        ("debit", yen.as_str(), "1570", "JPY"),
        ("credit", wallet.as_str(), "1570.0", "JPY"),
    ]);
    let posted = at_noon(&books).post_once(TRANSACTIONS, "K-1", &conversion).await;
    assert_eq!((posted.status, posted.body.get("amount"), posted.body.get("currency")), (201, None, None));
    assert_eq!([books.balance(&purse).await, books.balance(&wallet).await], ["10.00", "1570"]);
    let header = &books.partition(None, &format!("TXN#{}", id(&posted, "transactionId"))).await[4];
    assert_has(header, &[("SK", "S METADATA"), ("TransactionType", "S journal")]);
    assert!(!header.contains_key("Amount"));
    books.stack.stop().await;
}

fn at_noon(books: &Books) -> At<'_> {
    books.at(time(NOON))
}
