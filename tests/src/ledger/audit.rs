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
pub fn at(milli: i64) -> String {
    let start: Timestamp = "2020-01-01T00:00:00Z".parse().expect("a time");
    format!("{:.3}", start + SignedDuration::from_millis(milli))
}

/// A day in milliseconds.
pub const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Formats an amount of cents as dollars.
pub fn dollars(cents: i64) -> String {
    format!("{}{}.{:02}", if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100)
}

/// Returns the id of a leg of the transaction.
pub fn leg_id(transaction: &str, number: usize) -> String {
    format!("{transaction}-{number:02}")
}

/// Returns the primary key of a leg.
pub fn leg_key(transaction: &str, number: usize) -> Value {
    json!({"PK": {"S": format!("TXN#{transaction}")}, "SK": {"S": format!("LEG#{}", leg_id(transaction, number))}})
}

/// Returns the primary key of a transaction's header.
pub fn header_key(transaction: &str) -> Value {
    json!({"PK": {"S": format!("TXN#{transaction}")}, "SK": {"S": "METADATA"}})
}

/// Returns the primary key of an account.
pub fn account_key(account: &str) -> Value {
    json!({"PK": {"S": format!("ACCOUNT#{account}")}, "SK": {"S": "METADATA"}})
}

/// USD accounts, the transactions between them and the holds on them. The items have the same
/// format as those that the functions store.
#[derive(Debug, Default)]
pub struct Shelf {
    accounts: BTreeMap<String, Account>,
    items: Vec<String>,
    /// The hash of each leg.
    hashes: BTreeMap<String, String>,
    /// The hashes of the legs of another history, which the legs of this history keep.
    kept: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
struct Account {
    cents: i64,
    /// The sum of the open holds. `None` if the account never had a hold.
    held: Option<i64>,
    version: i64,
    last: Option<LastLeg>,
    /// The credits in the inbox. `None` if the account has direct posting.
    inbox: Option<Vec<Credit>>,
}

/// The last leg of an account: the transaction, the leg, the time and the hash.
#[derive(Debug)]
struct LastLeg {
    texts: [String; 4],
    is_settled: bool,
}

/// A credit that waits for its settlement.
#[derive(Debug)]
struct Credit {
    transaction: String,
    number: usize,
    time: String,
    change: i64,
    other: Option<String>,
}

impl Account {
    /// Adds the leg to the balance, and returns the entry of the leg in the history of the account.
    fn post(&mut self, leg: &Leg<'_>, posted_at: Option<&str>) -> Entry {
        (self.cents, self.version) = (self.cents + leg.change, self.version + 1);
        let start = || "0".repeat(64);
        let previous = self.last.as_ref().map_or_else(start, |last| last.texts[3].clone());
        let posted_at = posted_at.map(str::to_owned);
        let hash = leg.hash(&previous, self.cents, posted_at.as_deref());
        Entry { after: self.cents, hash, posted_at }
    }

    /// Remembers the last leg.
    fn end_with(&mut self, leg: &Leg<'_>, Entry { hash, posted_at, .. }: &Entry) {
        let time = posted_at.as_deref().unwrap_or(leg.time).to_owned();
        let texts = [leg.transaction.to_owned(), leg.id(), time, hash.clone()];
        self.last = Some(LastLeg { texts, is_settled: posted_at.is_some() });
    }
}

impl Shelf {
    /// Opens an account if it does not exist.
    pub fn open(&mut self, account: &str) {
        self.accounts.entry(account.to_owned()).or_default();
    }

    /// Opens an account with grouped posting.
    pub fn open_grouped(&mut self, account: &str) {
        self.accounts.insert(account.to_owned(), Account { inbox: Some(Vec::new()), ..Account::default() });
    }

    /// Opens an account with a balance but without legs.
    pub fn open_with(&mut self, account: &str, cents: i64) {
        self.accounts.insert(account.to_owned(), Account { cents, ..Account::default() });
    }

    /// Starts a forged history. Its legs and accounts keep the hashes of the original.
    pub fn forging(original: &Self) -> Self {
        Self { kept: original.hashes.clone(), ..Self::default() }
    }

    /// Returns the hash of a posted leg.
    pub fn hash(&self, transaction: &str, number: usize) -> String {
        self.hashes[&leg_id(transaction, number)].clone()
    }

    /// Posts a transaction. Each leg is a tuple of an account and a balance change in cents. A
    /// credit of an account with grouped posting goes to the inbox of the account.
    pub fn post(&mut self, id: &str, milli: i64, legs: &[(&str, i64)]) {
        let (time, mut postings) = (at(milli), Vec::new());
        for (number, (account, change)) in (1..).zip(legs) {
            let other = counterparty(legs, account);
            let leg = Leg { transaction: id, number, account, time: &time, change: *change, other };
            postings.push(text(&format!("{}#{}#USD#{account}", side(*change), dollars(change.abs()))));
            let holder = self.accounts.entry((*account).to_owned()).or_default();
            if let Some(inbox) = holder.inbox.as_mut().filter(|_| *change > 0) {
                let (transaction, other) = (id.to_owned(), other.map(str::to_owned));
                inbox.push(Credit { transaction, number, time: time.clone(), change: *change, other });
                self.items.push(leg.grouped());
                continue;
            }
            let mut entry = holder.post(&leg, None);
            if let Some(kept) = self.kept.get(&leg.id()) {
                entry.hash.clone_from(kept);
            }
            self.hashes.insert(leg.id(), entry.hash.clone());
            holder.end_with(&leg, &entry);
            self.items.push(leg.posted(&entry));
        }
        let debits = legs.iter().map(|(_, change)| change.min(&0).abs()).sum();
        self.items.push(header(id, &time, debits, &postings.join(",")));
    }

    /// Settles an account with grouped posting: posts the credits of its inbox.
    pub fn settle(&mut self, account: &str, milli: i64) {
        let (time, holder) = (at(milli), self.accounts.get_mut(account).expect("an account"));
        let mut credits = holder.inbox.as_mut().map(std::mem::take).expect("an inbox");
        credits.sort_by_key(|Credit { transaction, number, .. }| leg_id(transaction, *number));
        for Credit { transaction, number, time: created, change, other } in &credits {
            let other = other.as_deref();
            let leg = Leg { transaction, number: *number, account, time: created, change: *change, other };
            let entry = holder.post(&leg, Some(&time));
            holder.end_with(&leg, &entry);
            self.items.push(leg.posted(&entry));
        }
    }

    /// Opens a hold that expires long after the tests.
    pub fn hold(&mut self, id: &str, [debit, credit]: [&str; 2], cents: i64) {
        let holder = self.accounts.entry(debit.to_owned()).or_default();
        (holder.held, holder.version) = (Some(holder.held.unwrap_or_default() + cents), holder.version + 1);
        self.items.push(hold(id, [debit, credit], cents));
    }

    /// Creates a leg that its transaction does not list.
    pub fn stray(id: &str, number: usize, account: &str, milli: i64, cents: i64) -> Value {
        let leg = Leg { transaction: id, number, account, time: &at(milli), change: cents, other: None };
        let entry = Entry { after: 1_234_567, hash: "5".repeat(64), posted_at: None };
        serde_json::from_str(&leg.posted(&entry)).expect("an item")
    }

    /// Writes all accounts, and everything that was posted since the last call. Credits that are in
    /// an inbox now stay there.
    pub async fn put(&mut self, rows: &Rows) {
        // The function that counts transactions reads their accounts.
        let accounts: Vec<String> = self.accounts.iter().map(|(id, holder)| account(id, holder)).collect();
        rows.put(&accounts).await;
        for (account, holder) in &mut self.accounts {
            for Credit { transaction, number, time, change, other } in holder.inbox.iter_mut().flat_map(std::mem::take)
            {
                let other = other.as_deref();
                let leg = Leg { transaction: &transaction, number, account, time: &time, change, other };
                self.items.push(leg.inbox_item());
            }
        }
        rows.put(&std::mem::take(&mut self.items)).await;
    }
}

/// A debit or credit of one account. The change of the balance is in cents.
struct Leg<'a> {
    transaction: &'a str,
    number: usize,
    account: &'a str,
    time: &'a str,
    change: i64,
    other: Option<&'a str>,
}

/// The other account of a transaction with two legs.
fn counterparty<'a>(legs: &[(&'a str, i64)], account: &str) -> Option<&'a str> {
    match legs {
        [(one, _), (other, _)] | [(other, _), (one, _)] if *one == account => Some(other),
        _ => None,
    }
}

/// The entry of a leg in the history of its account.
struct Entry {
    after: i64,
    hash: String,
    /// The time of the settlement, if the leg is a grouped credit.
    posted_at: Option<String>,
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

/// The type of all transactions.
const TYPE: &str = "payment";

/// Hashes lines as docs/ledger-proof.md describes it.
fn sha256(lines: &[&str]) -> String {
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let digits = Sha256::digest(text).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

impl Leg<'_> {
    fn id(&self) -> String {
        leg_id(self.transaction, self.number)
    }

    /// Returns the hash of the leg. `previous` is the hash of the previous leg, and `after` is the
    /// balance after the leg.
    fn hash(&self, previous: &str, after: i64, posted_at: Option<&str>) -> String {
        let Self { transaction, account, time, change, .. } = *self;
        let (id, amount, after) = (self.id(), dollars(change.abs()), dollars(after));
        let other = self.other.map(|other| format!("counterparty {other}"));
        let kind = if posted_at.is_some() { "posting" } else { "leg" };
        let mut lines =
            vec![kind, account, "someone", transaction, &id, side(change), &amount, "USD", &after, time, TYPE];
        lines.extend(other.as_deref());
        lines.extend(posted_at);
        sha256(&[previous, &sha256(&lines)])
    }

    /// Returns the attributes that a leg and its posting have in common.
    fn attributes(&self, prefix: &str, kind: &str) -> Vec<(&'static str, String)> {
        let Self { transaction, account, time, change, .. } = *self;
        let id = self.id();
        let mut attributes = self.copies();
        attributes.extend([
            ("PK", text(&format!("TXN#{transaction}"))),
            ("SK", text(&format!("{prefix}#{id}"))),
            ("Type", text(kind)),
            ("ID", text(&id)),
            ("TransactionID", text(transaction)),
            ("AccountID", text(account)),
            ("UserID", text("someone")),
            ("LegType", text(side(change))),
            ("Amount", number(&dollars(change.abs()))),
            ("Currency", text("USD")),
            ("CreatedAt", text(time)),
        ]);
        attributes
    }

    /// Returns what the leg copies of its transaction.
    fn copies(&self) -> Vec<(&'static str, String)> {
        let other = self.other.map(|other| ("CounterpartyID", text(other)));
        [("TransactionType", text(TYPE))].into_iter().chain(other).collect()
    }

    /// Returns the leg, or the posting of a grouped credit, as an entry of its account.
    fn posted(&self, Entry { after, hash, posted_at }: &Entry) -> String {
        let (prefix, kind) = if posted_at.is_some() { ("POSTING", "Posting") } else { ("LEG", "TransactionLeg") };
        let time = posted_at.as_deref().unwrap_or(self.time);
        let mut attributes = self.attributes(prefix, kind);
        attributes.extend([
            ("GSI1PK", text(&format!("ACCOUNT#{}", self.account))),
            ("GSI1SK", text(&format!("LEG#{time}#{}", self.id()))),
            ("BalanceAfter", number(&dollars(*after))),
            ("Hash", text(hash)),
        ]);
        attributes.extend(posted_at.as_deref().map(|at| ("PostedAt", text(at))));
        item(&attributes)
    }

    /// Returns the leg of a grouped credit.
    fn grouped(&self) -> String {
        let mut attributes = self.attributes("LEG", "TransactionLeg");
        attributes.push(("InboxShard", text(&self.inbox_shard())));
        item(&attributes)
    }

    /// Returns the inbox item of a grouped credit.
    fn inbox_item(&self) -> String {
        let Self { transaction, account, time, change, .. } = *self;
        let (id, shard) = (self.id(), self.inbox_shard());
        let mut attributes = self.copies();
        attributes.extend([
            ("PK", text(&format!("ACCOUNT#{account}#INBOX#{shard}"))),
            ("SK", text(&format!("CREATED#{time}#{id}"))),
            ("Type", text("InboxItem")),
            ("ID", text(&id)),
            ("TransactionID", text(transaction)),
            ("AccountID", text(account)),
            ("Number", number(&self.number.to_string())),
            ("Amount", number(&dollars(change))),
            ("Currency", text("USD")),
            ("CreatedAt", text(time)),
        ]);
        item(&attributes)
    }

    /// Readers take the shard from the leg, so each shard of the inbox is valid.
    fn inbox_shard(&self) -> String {
        (self.transaction.bytes().map(usize::from).sum::<usize>() % 8).to_string()
    }
}

fn header(id: &str, time: &str, cents: i64, postings: &str) -> String {
    item(&[
        ("PK", text(&format!("TXN#{id}"))),
        ("SK", text("METADATA")),
        ("GSI1PK", text("STATUS#completed")),
        ("GSI1SK", text(&format!("CREATED#{time}"))),
        ("Type", text("Transaction")),
        ("ID", text(id)),
        ("TransactionType", text(TYPE)),
        ("Status", text("completed")),
        ("Amount", number(&dollars(cents))),
        ("Currency", text("USD")),
        ("Legs", format!("{{\"L\":[{postings}]}}")),
        ("CreatedAt", text(time)),
        ("CreatedBy", text("someone")),
        ("Request", text("x")),
    ])
}

fn hold(id: &str, [debit, credit]: [&str; 2], cents: i64) -> String {
    let expiry = at(30_000 * DAY);
    let by_expiry = text(&format!("EXPIRES#{expiry}#{id}"));
    item(&[
        ("PK", text(&format!("HOLD#{id}"))),
        ("SK", text("METADATA")),
        ("GSI1PK", text(&format!("ACCOUNT#{debit}"))),
        ("GSI1SK", by_expiry.clone()),
        ("GSI2PK", text("HOLD-EXPIRY#0")),
        ("GSI2SK", by_expiry),
        ("Type", text("Hold")),
        ("ID", text(id)),
        ("DebitAccountID", text(debit)),
        ("CreditAccountID", text(credit)),
        ("PayerID", text("someone")),
        ("PayeeID", text("someone")),
        ("Amount", number(&dollars(cents))),
        ("Captured", number("0")),
        ("Currency", text("USD")),
        ("Status", text("held")),
        ("ExpiresAt", text(&expiry)),
        ("Version", number("1")),
        ("CreatedAt", text(&at(0))),
        ("Request", text("x")),
    ])
}

fn account(id: &str, Account { cents, held, version, last, inbox }: &Account) -> String {
    let key = text(&format!("ACCOUNT#{id}"));
    let kind = if inbox.is_some() { "merchant" } else { "checking" };
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
        ("AccountType", text(kind)),
        ("Balance", number(&dollars(*cents))),
        ("Currency", text("USD")),
        ("Status", text("active")),
        ("AllowNegative", "{\"BOOL\":true}".to_owned()),
        ("Version", number(&(version + 1).to_string())),
        ("CreatedAt", text(&at(0))),
        ("Request", text("x")),
    ];
    attributes.extend(held.map(|held| ("Held", number(&dollars(held)))));
    attributes.extend(inbox.as_ref().map(|_| ("Posting", text("grouped"))));
    let names = ["LastTransactionID", "LastLegID", "LastLegAt", "LastLegHash"];
    if let Some(LastLeg { texts, is_settled }) = last {
        attributes.extend(names.into_iter().zip(texts).map(|(name, value)| (name, text(value))));
        attributes.extend(is_settled.then(|| ("LastLegSettled", "{\"BOOL\":true}".to_owned())));
    }
    item(&attributes)
}

/// Returns a string attribute of an item.
pub fn text_of<'a>(item: &'a Value, attribute: &str) -> &'a str {
    item[attribute]["S"].as_str().expect("a text")
}

/// Accesses a table of the ledger directly, without the SDK. The SDK would be too slow for the
/// large number of items that tests write.
#[derive(Debug, Clone)]
pub struct Rows {
    http: reqwest::Client,
    url: String,
    table: String,
}

impl Rows {
    /// Connects to the DynamoDB of the stack.
    pub fn of(stack: &Stack) -> Self {
        Self::in_table(stack, "FinancialTransactions")
    }

    /// Connects to another table.
    pub fn in_table(stack: &Stack, table: &str) -> Self {
        let table = stack.table(table).expect("a table").to_owned();
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
        let attributes: Map<String, Value> = serde_json::from_value(attributes).expect("attributes");
        item.as_object_mut().expect("an item").extend(attributes);
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
pub fn without_steps() -> Builder {
    let mapping = "        Steps:\n          Type: DynamoDB\n          Properties:\n";
    changed("ledger", (mapping, 1), &format!("{mapping}            Enabled: false\n"))
}
