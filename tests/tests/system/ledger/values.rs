//! Tests of the examples in the [requirement](../../../../docs/requirements/ledger.md): the stored
//! values, and the results of the required queries. Further tests check that amounts are exact to
//! 38 digits.

use aws_sdk_dynamodb::types::AttributeValue;
use ledger::{ChainHash, Posting};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, assert_problem,
    clock::time,
    ledger::audit::{Rows, account_key, header_key},
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

    /// Queries a partition of the table or of an index, with a condition on the sort key. Returns
    /// the primary keys of the results, in order.
    async fn found(&self, index: &str, partition: &str, sort: &str, bounds: [&str; 2]) -> Vec<[String; 2]> {
        let query = self.books.stack.client().expect("a client").query().table_name(self.books.table());
        let mut query = query.set_index_name(Some(index.to_owned()).filter(|index| !index.is_empty()));
        query = query.key_condition_expression(format!("{index}PK = :of{sort}"));
        query = query.expression_attribute_values(":of", text(partition));
        for (name, bound) in [":from", ":to"].into_iter().zip(bounds).filter(|(_, bound)| !bound.is_empty()) {
            query = query.expression_attribute_values(name, text(bound));
        }
        let items = query.send().await.expect("an answer").items.expect("items");
        let key = |item: &Item| ["PK", "SK"].map(|name| item[name].as_s().expect("a text").clone());
        items.iter().map(key).collect()
    }
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

#[tokio::test]
async fn stores_the_required_items_as_specified() {
    let example = Example::start().await;
    let Example { merchant, account, till, .. } = &example;
    let transaction = example.transaction();
    let partition = format!("TXN#{transaction}");
    let mut wanted = vec![
        json!({
            "PK": format!("MERCHANT#{merchant}"), "SK": "METADATA", "Type": "Merchant", "ID": merchant,
            "Name": "Coffee Shop Inc", "Category": "Restaurant",
        }),
        json!({
            "PK": format!("ACCOUNT#{account}"), "SK": "METADATA", "GSI1PK": format!("USER#{USER}"),
            "GSI1SK": format!("ACCOUNT#{account}"), "Type": "Account", "ID": account, "UserID": USER,
            "AccountType": "checking", "Balance": {"N": "1494.5"}, "Currency": "USD", "Status": "active",
        }),
        json!({
            "PK": partition, "SK": "METADATA", "GSI1PK": "STATUS#completed",
            "GSI1SK": "CREATED#2026-01-02T10:30:00.123Z", "GSI2PK": "IDEMPOTENCY#abc123def456", "GSI2SK": "TXN",
            "Type": "Transaction", "ID": transaction, "IdempotencyKey": "abc123def456", "TransactionType": "payment",
            "Status": "completed", "MerchantID": merchant, "Description": "Coffee purchase", "Amount": {"N": "5.5"},
            "CreatedAt": NOON,
        }),
    ];
    for (index, (kind, of, after)) in [("debit", account, "1494.5"), ("credit", till, "5.5")].into_iter().enumerate() {
        let leg = example.leg(index);
        wanted.push(json!({
            "PK": partition, "SK": format!("LEG#{leg}"), "GSI1PK": format!("ACCOUNT#{of}"),
            "GSI1SK": format!("LEG#2026-01-02T10:30:00.123Z#{leg}"), "Type": "TransactionLeg", "ID": leg,
            "TransactionID": transaction, "AccountID": of, "LegType": kind, "Amount": {"N": "5.5"}, "Currency": "USD",
            "CreatedAt": NOON, "BalanceAfter": {"N": after},
        }));
    }
    let rows = Rows::of(&example.books.stack);
    for item in wanted {
        let stored = rows.get(&json!({"PK": {"S": item["PK"]}, "SK": {"S": item["SK"]}})).await;
        for (name, value) in item.as_object().expect("an item") {
            let value = if value.is_string() { json!({"S": value}) } else { value.clone() };
            assert_eq!(stored[name], value, "{name} of {stored}");
        }
    }
    assert_eq!(example.books.partition(None, &partition).await.len(), 3);
    example.books.stack.stop().await;
}

#[tokio::test]
async fn required_queries_find_the_payment() {
    let example = Example::start().await;
    let key = |partition: &str, sort: &str| [partition.to_owned(), sort.to_owned()];
    let txn = format!("TXN#{}", example.transaction());
    let (header, first, second) = (
        key(&txn, "METADATA"),
        key(&txn, &format!("LEG#{}", example.leg(0))),
        key(&txn, &format!("LEG#{}", example.leg(1))),
    );
    let account = key(&format!("ACCOUNT#{}", example.account), "METADATA");
    let day = " AND GSI1SK >= :from";
    for (index, partition, condition, bounds, wanted) in [
        ("GSI1", format!("USER#{USER}"), "", ["", ""], vec![&account]),
        ("GSI1", "STATUS#completed".to_owned(), day, ["CREATED#2026-01-01T10:30:00.000Z", ""], vec![&header]),
        ("GSI2", format!("IDEMPOTENCY#{KEY}"), "", ["", ""], vec![&header]),
        ("", txn, "", ["", ""], vec![&first, &second, &header]),
    ] {
        assert_eq!(example.found(index, &partition, condition, bounds).await.iter().collect::<Vec<_>>(), wanted);
    }
    let bounds = ["CREATED#2026-01-01T00:00:00.000Z", "CREATED#2026-01-31T23:59:59.999Z"];
    let month = example.found("GSI1", "STATUS#completed", " AND GSI1SK BETWEEN :from AND :to", bounds).await;
    assert_eq!((month.len(), &month[1]), (2, &header));
    let legs = " AND begins_with(GSI1SK, :from)";
    let history = example.found("GSI1", &format!("ACCOUNT#{}", example.account), legs, ["LEG#", ""]).await;
    assert_eq!((history.len(), &history[1]), (2, &first), "oldest first");
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
const AMOUNTS: [(&str, &str, &str); 8] = [
    ("0.1", "USD", "0.10"),
    ("\"5.5\"", "USD", "5.50"),
    ("5.5000", "EUR", "5.50"),
    ("9007199254740993", "USD", "9007199254740993.00"),
    ("\"12345678901234567890.12\"", "USD", "12345678901234567890.12"),
    ("100.00", "JPY", "100"),
    ("\"1.5\"", "KWD", "1.500"),
    ("100000000000000000000000000000000000.00", "USD", "100000000000000000000000000000000000.00"),
];

#[tokio::test]
async fn keeps_amounts_exactly_from_strings_and_numbers() {
    let books = Books::open().await;
    for (number, (sent_as, currency, amount)) in AMOUNTS.into_iter().enumerate() {
        let (from, to) = pair(&books, currency).await;
        let paid = pay(&books, &format!("K-{number}"), &from, &to, sent_as, currency).await;
        assert_eq!((paid.status, &paid.body["amount"]), (201, &json!(amount)), "{sent_as} {currency}: {}", paid.body);
        assert_eq!(books.operator.get(paid.headers["location"].to_str().expect("text")).await.body, paid.body);
        assert_eq!([books.balance(&from).await, books.balance(&to).await], [format!("-{amount}"), amount.to_owned()]);
    }
    let account = books.funded("user-1", "0.10").await;
    assert_eq!(books.pay("K", &books.outside, &account, "0.20").await.body["legs"][1]["balanceAfter"], "0.30");
    assert_eq!(Rows::of(&books.stack).get(&account_key(&account)).await["Balance"], json!({"N": "0.3"}));
    books.stack.stop().await;
}

#[tokio::test]
async fn accepts_38_digits_and_rejects_39() {
    let books = Books::open().await;
    let (all, most) = ("9".repeat(36), format!("{}.99", "9".repeat(36)));
    let account = books.account("user-1").await;
    assert_eq!(books.pay("K-1", &books.outside, &account, &format!("{all}.98")).await.status, 201);
    let paid = books.pay("K-2", &books.outside, &account, "0.01").await;
    assert_eq!(paid.body["legs"][1]["balanceAfter"], most, "{}", paid.body);
    let stored = books.stored().await;
    for (key, from, to) in [("K-3", &books.outside, &account), ("K-4", &books.source("USD").await, &account)] {
        assert_problem(&books.pay(key, from, to, "0.01").await, 409, "balance-too-large");
    }
    assert_eq!(books.stored().await.len(), stored.len() + 1, "only the new source account is stored");
    assert_eq!(
        [books.balance(&account).await, books.balance(&books.outside).await],
        [most.clone(), format!("-{most}")]
    );
    let statement = books.operator.get(&format!("{ACCOUNTS}/{account}/statement")).await.body;
    assert_eq!(statement["items"][0]["balanceAfter"], most);
    assert_eq!(
        books.pay("K-5", &account, &books.outside, &most).await.status,
        201,
        "the whole balance can be paid back"
    );
    assert_eq!([books.balance(&account).await, books.balance(&books.outside).await], ["0.00", "0.00"]);
    books.stack.stop().await;
}

/// Amounts that are wrong for their currency or too large. The contract has other wrong numbers.
const NO_AMOUNTS: [(&str, &str); 10] = [
    ("5.505", "USD"),
    ("\"0.001\"", "EUR"),
    ("1.5", "JPY"),
    ("0.0001", "KWD"),
    ("\"-5.50\"", "USD"),
    ("0", "USD"),
    ("\"-0.00\"", "USD"),
    ("1e2", "USD"),
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
    let posted = books.at(time(NOON)).post_once(TRANSACTIONS, "K-1", &conversion).await;
    assert_eq!((posted.status, posted.body.get("amount"), posted.body.get("currency")), (201, None, None));
    assert_eq!([books.balance(&purse).await, books.balance(&wallet).await], ["10.00", "1570"]);
    let header = Rows::of(&books.stack).get(&header_key(&id(&posted, "transactionId"))).await;
    assert_eq!((&header["TransactionType"], header.get("Amount")), (&json!({"S": "journal"}), None));
    books.stack.stop().await;
}

/// A header stores a posting for each leg, and a leg stores its hash. Both are texts.
#[test]
fn stored_texts_of_postings_and_hashes_are_exact() {
    let text = "debit#5.50#USD#660f9511-e29b-41d4-a716-446655440000";
    let posting: Posting = text.parse().expect("a posting");
    assert_eq!(posting.to_string(), text);
    assert_eq!(posting.change().to_string(), "-5.50 USD");
    assert_eq!(posting.reversed().change().to_string(), "5.50 USD");
    for bad in ["", "debit#5.50#USD", "debit#5.505#USD#A", "take#5#USD#A", "debit#5#USD#A#B", "debit#5#USD#"] {
        assert!(bad.parse::<Posting>().is_err(), "{bad}");
    }
    let text = "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2";
    assert_eq!(text.parse::<ChainHash>().map(|hash| hash.to_string()).as_deref(), Ok(text));
    for bad in ["", "0", &text[1..], &text.to_uppercase(), &format!("{text}00"), &"g".repeat(64)] {
        assert!(bad.parse::<ChainHash>().is_err(), "{bad}");
    }
}
