//! The history of the ledger's items, which the stream of the table records.

use super::model::minor;
use local::Stack;
use money::{Currency, Decimal};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use system_tests::{http, text};

/// Items that never change.
const IMMUTABLE: [&str; 4] = ["Transaction", "TransactionLeg", "Posting", "Reversal"];

/// Items whose insertion triggers the function `react-to-transactions`.
const TRIGGERS: [&str; 2] = ["Transaction", "InboxItem"];

/// Number of records to keep.
const RECENT: usize = 200;

/// Maximum number of pages of a round.
const MAX_READS: usize = 10_000;

/// Reads the stream of the ledger's table, and checks each change.
pub(super) struct History {
    http: reqwest::Client,
    url: String,
    iterator: String,
    /// The last version of each account.
    versions: BTreeMap<String, i64>,
    /// The lowest available amount of each account in the current round, in minor units.
    least: BTreeMap<String, i128>,
    /// The last records that trigger the function `react-to-transactions`.
    pub(super) inserted: VecDeque<Value>,
}

impl History {
    /// Opens the stream at its oldest record.
    pub(super) async fn open(stack: &Stack) -> Self {
        let table = stack.table("FinancialTransactions").expect("a table");
        let described = stack.client().expect("a client").describe_table().table_name(table).send().await;
        let described = described.expect("a table").table.expect("a table");
        let arn = described.latest_stream_arn.expect("a stream");
        let (url, iterator) = (stack.dynamo_url().to_owned(), String::new());
        let (versions, least, inserted) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        let mut history = Self { http: http(), url, iterator, versions, least, inserted };
        let stream = history.call("DescribeStream", &json!({"StreamArn": arn})).await;
        let shard = &stream["StreamDescription"]["Shards"][0]["ShardId"];
        let start = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        text(&history.call("GetShardIterator", &start).await, "ShardIterator").clone_into(&mut history.iterator);
        history
    }

    async fn call(&self, action: &str, body: &Value) -> Value {
        const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=local/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=x";
        let request = self.http.post(&self.url).header("x-amz-target", format!("DynamoDBStreams_20120810.{action}"));
        let request = request.header("authorization", SIGNED).header("x-amz-date", "20200101T000000Z");
        let request = request.header("content-type", "application/x-amz-json-1.0").body(body.to_string());
        let answer = request.send().await.expect("an answer").text().await.expect("a body");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert!(answer["message"].is_null() && answer["Message"].is_null(), "{action}: {answer}");
        answer
    }

    /// Reads and checks the records through these versions of the accounts. Returns the lowest
    /// available amount of each account that has changed since the last call, in minor units.
    pub(super) async fn read_through(&mut self, versions: &BTreeMap<String, i64>) -> BTreeMap<String, i128> {
        for _ in 0..MAX_READS {
            if self.versions == *versions {
                return std::mem::take(&mut self.least);
            }
            let page = self.call("GetRecords", &json!({"ShardIterator": self.iterator, "Limit": 1_000})).await;
            text(&page, "NextShardIterator").clone_into(&mut self.iterator);
            for record in page["Records"].as_array().expect("records") {
                self.check(record);
            }
        }
        unreachable!("the stream lacks versions: {:?} instead of {versions:?}", self.versions)
    }

    fn check(&mut self, record: &Value) {
        let (old, new) = (&record["dynamodb"]["OldImage"], &record["dynamodb"]["NewImage"]);
        let item_type = new["Type"]["S"].as_str().or(old["Type"]["S"].as_str()).expect("a type");
        if record["eventName"] == "INSERT" && TRIGGERS.contains(&item_type) {
            self.inserted.push_front(record.clone());
            self.inserted.truncate(RECENT);
        }
        match item_type {
            "Account" => self.check_account(new),
            "Hold" => check_hold(old, new),
            immutable if IMMUTABLE.contains(&immutable) => assert!(old.is_null(), "an item has changed: {record}"),
            _ => {}
        }
    }

    /// Checks that no version of the account is missing, and that it covers the reserved amount.
    fn check_account(&mut self, account: &Value) {
        let id = account["ID"]["S"].as_str().expect("an id");
        let version = account["Version"]["N"].as_str().and_then(|number| number.parse().ok()).expect("a version");
        let previous = self.versions.insert(id.to_owned(), version);
        assert_eq!(version, previous.unwrap_or_default() + 1, "{account}");
        let held = if account["Held"].is_null() { 0 } else { amount(account, "Held") };
        let available = amount(account, "Balance") - held;
        let may_be_negative = account["AllowNegative"]["BOOL"] == true;
        assert!(held >= 0 && (available >= 0 || may_be_negative), "{account}");
        let least = self.least.entry(id.to_owned()).or_insert(available);
        *least = available.min(*least);
    }
}

/// Checks that a hold is never captured beyond its amount, and never changes after its end.
fn check_hold(old: &Value, new: &Value) {
    let (captured, whole) = (amount(new, "Captured"), amount(new, "Amount"));
    assert!(captured <= whole && (captured == whole) == (new["Status"]["S"] == "captured"), "{new}");
    if old.is_null() {
        assert_eq!((new["Status"]["S"].as_str(), captured), (Some("held"), 0), "{new}");
        return;
    }
    assert!(old["Status"]["S"] == "held" && amount(old, "Captured") <= captured, "{old} {new}");
}

/// Returns an amount of a stored item, in minor units.
fn amount(item: &Value, name: &str) -> i128 {
    let currency: Currency = item["Currency"]["S"].as_str().and_then(|code| code.parse().ok()).expect("a currency");
    minor(Decimal::of_number(item[name]["N"].as_str().expect("a number")).expect("a number"), currency)
}
