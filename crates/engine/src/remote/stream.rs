//! Copies stream records from the other DynamoDB to the local store, where the pollers read them.
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::Wire;
use crate::store::Store;

pub(super) struct Stream {
    table: String,
    store: Store,
    shard: Value,
    place: Mutex<Place>,
}

/// Place in the stream up to which the records are copied.
#[derive(Default)]
struct Place {
    /// Sequence number of the last record.
    last: Option<String>,
    /// `None` before the first record, because DynamoDB Local rejects an iterator that is older
    /// than all records.
    iterator: Option<String>,
}

impl Stream {
    /// Opens the stream at its oldest record.
    pub(super) async fn open(wire: &Wire, arn: &str, table: &str, store: Store) -> Result<Self, String> {
        let described = wire.ask("DynamoDBStreams_20120810.DescribeStream", &json!({"StreamArn": arn})).await?;
        let shard = &described["StreamDescription"]["Shards"][0]["ShardId"];
        let shard = json!({"StreamArn": arn, "ShardId": shard});
        Ok(Self { table: table.to_owned(), store, shard, place: Mutex::default() })
    }

    /// Whether a request names the table and may have changed it.
    pub(super) fn is_named_in(&self, request: &str) -> bool {
        request.contains(&self.table)
    }

    /// Copies new records to the store.
    pub(super) async fn read(&self, wire: &Wire) -> Result<(), String> {
        let mut place = self.place.lock().await;
        loop {
            let page = match self.page(wire, &place).await {
                // An iterator expires after 15 minutes.
                Err(error) if error.contains("ExpiredIteratorException") => {
                    place.iterator = None;
                    self.page(wire, &place).await?
                }
                page => page?,
            };
            let records = page["Records"].as_array().map(Vec::as_slice).unwrap_or_default();
            for record in records {
                self.store.append(&self.table, record)?;
                place.last = Some(text(&record["dynamodb"]["SequenceNumber"])?);
            }
            // An empty page also has a new iterator. An old one would expire in an idle table.
            if place.last.is_some() {
                place.iterator = Some(text(&page["NextShardIterator"])?);
            }
            if records.is_empty() {
                return Ok(());
            }
        }
    }

    async fn page(&self, wire: &Wire, place: &Place) -> Result<Value, String> {
        let iterator = match &place.iterator {
            Some(iterator) => iterator.clone(),
            None => self.iterator_after(wire, place.last.as_deref()).await?,
        };
        wire.ask("DynamoDBStreams_20120810.GetRecords", &json!({"ShardIterator": iterator})).await
    }

    /// Iterator after the record with this sequence number, or at the oldest record.
    async fn iterator_after(&self, wire: &Wire, last: Option<&str>) -> Result<String, String> {
        let mut request = self.shard.clone();
        request["ShardIteratorType"] = json!(if last.is_some() { "AFTER_SEQUENCE_NUMBER" } else { "TRIM_HORIZON" });
        if let Some(last) = last {
            request["SequenceNumber"] = json!(last);
        }
        let answer = wire.ask("DynamoDBStreams_20120810.GetShardIterator", &request).await?;
        text(&answer["ShardIterator"])
    }
}

fn text(value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "the stream has no open shard".to_owned())
}
