//! Copies stream records from the other DynamoDB to the local store, where the pollers read them.
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::Wire;
use crate::store::Store;

pub(super) struct Stream {
    table: String,
    store: Store,
    shard: Value,
    /// `None` before the first record, because DynamoDB Local rejects an iterator that is older
    /// than all records.
    iterator: Mutex<Option<String>>,
}

impl Stream {
    /// Opens the stream at its oldest record.
    pub(super) async fn open(wire: &Wire, arn: &str, table: &str, store: Store) -> Result<Self, String> {
        let described = wire.ask("DynamoDBStreams_20120810.DescribeStream", &json!({"StreamArn": arn})).await?;
        let shard = &described["StreamDescription"]["Shards"][0]["ShardId"];
        let shard = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        Ok(Self { table: table.to_owned(), store, shard, iterator: Mutex::default() })
    }

    /// Whether a request names the table and may have changed it.
    pub(super) fn is_named_in(&self, request: &str) -> bool {
        request.contains(&self.table)
    }

    /// Copies new records to the store.
    pub(super) async fn read(&self, wire: &Wire) -> Result<(), String> {
        let mut iterator = self.iterator.lock().await;
        loop {
            let place = match &*iterator {
                Some(place) => place.clone(),
                None => self.beginning(wire).await?,
            };
            let page = wire.ask("DynamoDBStreams_20120810.GetRecords", &json!({"ShardIterator": place})).await?;
            let records = page["Records"].as_array().map(Vec::as_slice).unwrap_or_default();
            if records.is_empty() {
                return Ok(());
            }
            records.iter().try_for_each(|record| self.store.append(&self.table, record))?;
            *iterator = Some(text(&page["NextShardIterator"])?);
        }
    }

    async fn beginning(&self, wire: &Wire) -> Result<String, String> {
        let answer = wire.ask("DynamoDBStreams_20120810.GetShardIterator", &self.shard).await?;
        text(&answer["ShardIterator"])
    }
}

fn text(value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "the stream has no open shard".to_owned())
}
