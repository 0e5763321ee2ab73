//! Writes a ledger directly to DynamoDB. Tests can therefore choose the size, the transaction times
//! and the errors of a ledger.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::{Client, changed, http, until};
use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use local::{Builder, Stack};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The request path of reconciliations.
pub const RECONCILIATIONS: &str = "/ledger/reconciliations";

/// Returns the time that is `milli` milliseconds after the start of 2020.
#[must_use]
pub fn at(milli: i64) -> String {
    let start: Timestamp = "2020-01-01T00:00:00Z".parse().expect("a time");
    format!("{:.3}", start + SignedDuration::from_millis(milli))
}

/// A day in milliseconds.
pub const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Formats an amount of cents as dollars.
#[must_use]
pub fn dollars(cents: i64) -> String {
    format!("{}{}.{:02}", if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100)
}

/// Returns the id of a leg of the transaction.
#[must_use]
pub fn leg_id(transaction: &str, number: usize) -> String {
    format!("{transaction}-{number:02}")
}

/// Returns the primary key of a leg.
#[must_use]
pub fn leg_key(transaction: &str, number: usize) -> Value {
    json!({"PK": {"S": format!("TXN#{transaction}")}, "SK": {"S": format!("LEG#{}", leg_id(transaction, number))}})
}

/// Returns the primary key of a transaction's header.
#[must_use]
pub fn header_key(transaction: &str) -> Value {
    json!({"PK": {"S": format!("TXN#{transaction}")}, "SK": {"S": "METADATA"}})
}

/// Returns the primary key of an account.
#[must_use]
pub fn account_key(account: &str) -> Value {
    json!({"PK": {"S": format!("ACCOUNT#{account}")}, "SK": {"S": "METADATA"}})
}

/// USD accounts and the transactions between them. The items have the same format as those that the
/// functions store.
#[derive(Debug, Default)]
pub struct Shelf {
    accounts: BTreeMap<String, Account>,
    items: Vec<String>,
    /// The hash of each leg.
    hashes: BTreeMap<String, String>,
    /// The hashes of the legs of another history, which the legs of this history keep.
    kept: BTreeMap<String, String>,
    /// Number of posted legs.
    pub legs: usize,
}

#[derive(Debug, Default, Clone)]
struct Account {
    cents: i64,
    version: i64,
    last: Option<[String; 4]>,
}

impl Shelf {
    /// Opens an account if it does not exist.
    pub fn open(&mut self, account: &str) {
        self.accounts.entry(account.to_owned()).or_default();
    }

    /// Opens an account with a balance but without legs.
    pub fn open_with(&mut self, account: &str, cents: i64) {
        self.accounts.insert(account.to_owned(), Account { cents, ..Account::default() });
    }

    /// Starts a forged history. Its legs and accounts keep the hashes of the original.
    #[must_use]
    pub fn forging(original: &Self) -> Self {
        Self { kept: original.hashes.clone(), ..Self::default() }
    }

    /// Returns the hash of a posted leg.
    #[must_use]
    pub fn hash(&self, transaction: &str, number: usize) -> String {
        self.hashes[&leg_id(transaction, number)].clone()
    }

    /// Posts a transaction. Each leg is a tuple of an account and a balance change in cents.
    pub fn post(&mut self, id: &str, milli: i64, legs: &[(&str, i64)]) {
        let (time, mut postings) = (at(milli), Vec::new());
        for (number, (account, change)) in (1..).zip(legs) {
            let holder = self.accounts.entry((*account).to_owned()).or_default();
            (holder.cents, holder.version) = (holder.cents + change, holder.version + 1);
            let previous = holder.last.as_ref().map_or_else(|| "0".repeat(64), |[.., hash]| hash.clone());
            let hash = chained(&previous, id, number, account, &time, *change, holder.cents);
            let hash = self.kept.get(&leg_id(id, number)).cloned().unwrap_or(hash);
            self.hashes.insert(leg_id(id, number), hash.clone());
            holder.last = Some([id.to_owned(), leg_id(id, number), time.clone(), hash.clone()]);
            postings.push(text(&format!("{}#{}#USD#{account}", side(*change), dollars(change.abs()))));
            self.items.push(leg(id, number, account, &time, *change, holder.cents, &hash));
        }
        let debits = legs.iter().map(|(_, change)| change.min(&0).abs()).sum();
        self.items.push(header(id, &time, debits, &postings.join(",")));
        self.legs += legs.len();
    }

    /// Sets attributes of the header of a transaction that is not written yet.
    pub fn amend(&mut self, transaction: &str, attributes: Value) {
        let key = format!("{{\"PK\":{},\"SK\":{},", text(&format!("TXN#{transaction}")), text("METADATA"));
        let header = self.items.iter_mut().find(|item| item.starts_with(&key)).expect("a header");
        let mut item = serde_json::from_str(header).expect("an item");
        set(&mut item, attributes);
        *header = item.to_string();
    }

    /// Creates a leg that its transaction does not list.
    #[must_use]
    pub fn stray(id: &str, number: usize, account: &str, milli: i64, cents: i64) -> Value {
        let hash = "5".repeat(64);
        serde_json::from_str(&leg(id, number, account, &at(milli), cents, 1_234_567, &hash)).expect("an item")
    }

    /// Writes all accounts, and all transactions that were posted since the last call.
    pub async fn put(&mut self, rows: &Rows) {
        // The function that counts transactions reads their accounts.
        let accounts: Vec<String> = self.accounts.iter().map(|(id, holder)| account(id, holder)).collect();
        rows.put(&accounts).await;
        rows.put(&std::mem::take(&mut self.items)).await;
    }
}

fn side(change: i64) -> &'static str {
    if change < 0 { "debit" } else { "credit" }
}

/// Formats a string attribute. The text must not need escapes.
fn text(text: &str) -> String {
    format!("{{\"S\":\"{text}\"}}")
}

fn number(number: &str) -> String {
    format!("{{\"N\":\"{number}\"}}")
}

/// Formats an item. Builds the item as text for speed, because tests write many items.
fn item(attributes: &[(&str, String)]) -> String {
    let members: Vec<String> = attributes.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Hashes lines as docs/ledger-proof.md describes it.
fn sha256(lines: &[&str]) -> String {
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let digits = Sha256::digest(text).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// Returns the hash of a leg, from the hash of the previous leg.
fn chained(
    previous: &str,
    transaction: &str,
    place: usize,
    account: &str,
    time: &str,
    change: i64,
    after: i64,
) -> String {
    let (id, amount, after) = (leg_id(transaction, place), dollars(change.abs()), dollars(after));
    let lines = ["leg", account, "someone", transaction, &id, side(change), &amount, "USD", &after, time];
    sha256(&[previous, &sha256(&lines)])
}

fn leg(transaction: &str, place: usize, account: &str, time: &str, change: i64, after: i64, hash: &str) -> String {
    let id = leg_id(transaction, place);
    item(&[
        ("PK", text(&format!("TXN#{transaction}"))),
        ("SK", text(&format!("LEG#{id}"))),
        ("GSI1PK", text(&format!("ACCOUNT#{account}"))),
        ("GSI1SK", text(&format!("LEG#{time}#{id}"))),
        ("Type", text("TransactionLeg")),
        ("ID", text(&id)),
        ("TransactionID", text(transaction)),
        ("AccountID", text(account)),
        ("UserID", text("someone")),
        ("LegType", text(side(change))),
        ("Amount", number(&dollars(change.abs()))),
        ("Currency", text("USD")),
        ("BalanceAfter", number(&dollars(after))),
        ("CreatedAt", text(time)),
        ("Hash", text(hash)),
    ])
}

fn header(id: &str, time: &str, cents: i64, postings: &str) -> String {
    item(&[
        ("PK", text(&format!("TXN#{id}"))),
        ("SK", text("METADATA")),
        ("GSI1PK", text("STATUS#completed")),
        ("GSI1SK", text(&format!("CREATED#{time}"))),
        ("Type", text("Transaction")),
        ("ID", text(id)),
        ("TransactionType", text("payment")),
        ("Status", text("completed")),
        ("Amount", number(&dollars(cents))),
        ("Currency", text("USD")),
        ("Legs", format!("{{\"L\":[{postings}]}}")),
        ("CreatedAt", text(time)),
        ("CreatedBy", text("someone")),
        ("Request", text("x")),
    ])
}

fn account(id: &str, Account { cents, version, last }: &Account) -> String {
    let key = text(&format!("ACCOUNT#{id}"));
    let mut attributes = vec![
        ("PK", key.clone()),
        ("SK", text("METADATA")),
        ("GSI1PK", text("USER#someone")),
        ("GSI1SK", key.clone()),
        ("GSI2PK", text("ACCOUNTS")),
        ("GSI2SK", key),
        ("Type", text("Account")),
        ("ID", text(id)),
        ("UserID", text("someone")),
        ("AccountType", text("checking")),
        ("Balance", number(&dollars(*cents))),
        ("Currency", text("USD")),
        ("Status", text("active")),
        ("AllowNegative", "{\"BOOL\":true}".to_owned()),
        ("Version", number(&(version + 1).to_string())),
        ("CreatedAt", text(&at(0))),
        ("Request", text("x")),
    ];
    let names = ["LastTransactionID", "LastLegID", "LastLegAt", "LastLegHash"];
    let last = last.iter().flat_map(|last| names.into_iter().zip(last));
    attributes.extend(last.map(|(name, value)| (name, text(value))));
    item(&attributes)
}

fn set(item: &mut Value, attributes: Value) {
    let attributes: Map<String, Value> = serde_json::from_value(attributes).expect("attributes");
    item.as_object_mut().expect("an item").extend(attributes);
}

/// Accesses the ledger's table directly, without the SDK. The SDK would be too slow for the large
/// number of items that tests write.
#[derive(Debug, Clone)]
pub struct Rows {
    http: reqwest::Client,
    url: String,
    table: String,
}

impl Rows {
    /// Connects to the DynamoDB of the stack.
    #[must_use]
    pub fn of(stack: &Stack) -> Self {
        let table = stack.table("FinancialTransactions").expect("a table").to_owned();
        Self { http: http(), url: stack.dynamo_url().to_owned(), table }
    }

    async fn call(&self, action: &str, body: String) -> Value {
        const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=local/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=x";
        let request = self.http.post(&self.url).header("x-amz-target", format!("DynamoDB_20120810.{action}"));
        let request = request.header("authorization", SIGNED).header("x-amz-date", "20200101T000000Z");
        let answer = request.header("content-type", "application/x-amz-json-1.0").body(body).send().await;
        let answer = answer.expect("an answer");
        let (status, body) = (answer.status(), answer.text().await.expect("a body"));
        assert!(status.is_success(), "{action}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Puts items that are given as DynamoDB JSON.
    pub async fn put(&self, items: &[String]) {
        let body = |items: &[String]| {
            let puts: Vec<String> =
                items.iter().map(|item| format!("{{\"PutRequest\":{{\"Item\":{item}}}}}")).collect();
            format!("{{\"RequestItems\":{{\"{}\":[{}]}}}}", self.table, puts.join(","))
        };
        let calls = stream::iter(items.chunks(25).map(body)).map(|batch| self.call("BatchWriteItem", batch));
        let left = |answer: Value| async move { assert_eq!(answer["UnprocessedItems"], json!({}), "{answer}") };
        calls.buffer_unordered(8).for_each(left).await;
    }

    /// Reads an existing item.
    pub async fn get(&self, key: &Value) -> Value {
        let get = json!({"TableName": self.table, "Key": key, "ConsistentRead": true});
        let answer = self.call("GetItem", get.to_string()).await;
        assert!(answer["Item"].is_object(), "{key}");
        answer["Item"].clone()
    }

    /// Sets attributes of an existing item.
    pub async fn set(&self, key: &Value, attributes: Value) {
        let mut item = self.get(key).await;
        set(&mut item, attributes);
        self.put(&[item.to_string()]).await;
    }

    /// Deletes an existing item.
    pub async fn delete(&self, key: &Value) {
        let delete = json!({"TableName": self.table, "Key": key, "ReturnValues": "ALL_OLD"});
        let answer = self.call("DeleteItem", delete.to_string()).await;
        assert!(answer["Attributes"].is_object(), "{key}");
    }
}

/// Reconciles the time window, and returns the completed reconciliation.
pub async fn reconciled(operator: &Client, from: &str, to: &str) -> Value {
    let answer = operator.post(RECONCILIATIONS, &json!({"from": from, "to": to})).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    let path = answer.headers["location"].to_str().expect("a path").to_owned();
    until(operator, &path, |answer| answer.body["status"] == "done").await.body
}

/// Configures a stack in which the event source mapping for reconciliations is disabled. The test
/// invokes the function itself.
#[must_use]
pub fn without_steps() -> Builder {
    let mapping = "        Steps:\n          Type: DynamoDB\n          Properties:\n";
    changed("ledger", (mapping, 1), &format!("{mapping}            Enabled: false\n"))
}
