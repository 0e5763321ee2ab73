use crate::{
    Dynamo, Error, Item, Key, Table,
    error::backoff,
    item::{Attributes, read, written},
    usage,
};
use aws_sdk_dynamodb::types::{DeleteRequest, KeysAndAttributes, PutRequest, ReturnConsumedCapacity, WriteRequest};
use backon::{BackoffBuilder, ExponentialBackoff};
use std::{
    collections::{HashMap, HashSet},
    fmt,
};
use tokio::time::sleep;

/// Maximum number of keys in one `BatchGetItem` (DynamoDB limit).
const MAX_KEYS: usize = 100;
/// Maximum number of writes in one `BatchWriteItem` (DynamoDB limit).
const MAX_WRITES: usize = 25;

/// A batch of unconditional, independent writes. Writing a batch takes fewer calls than writing
/// each item alone.
#[derive(Clone, Default)]
pub struct BatchWrite {
    requests: Vec<(String, WriteRequest)>,
}

/// Does not print the items, because errors are logged.
impl fmt::Debug for BatchWrite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("BatchWrite").field("writes", &self.len()).finish()
    }
}

impl BatchWrite {
    /// Adds a put of the item, which replaces any item with the same key.
    ///
    /// # Errors
    /// The item cannot be serialized.
    pub fn put<T: Item>(&mut self, table: &Table, item: &T) -> Result<(), Error> {
        let put = PutRequest::builder().set_item(Some(written(item)?)).build();
        let put = put.map_err(|error| Error::Rejected(error.to_string()))?;
        self.requests.push((table.name.to_string(), WriteRequest::builder().put_request(put).build()));
        Ok(())
    }

    /// Adds a delete of the item with the key. The delete also succeeds if there is no such item.
    ///
    /// # Errors
    /// None for a valid key.
    pub fn delete(&mut self, table: &Table, key: &Key) -> Result<(), Error> {
        let delete = DeleteRequest::builder().set_key(Some(key.attributes())).build();
        let delete = delete.map_err(|error| Error::Rejected(error.to_string()))?;
        self.requests.push((table.name.to_string(), WriteRequest::builder().delete_request(delete).build()));
        Ok(())
    }

    /// The number of writes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns whether the batch has no writes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

/// The error for an incomplete batch. It contains the remaining writes.
#[derive(Debug, thiserror::Error)]
#[error("{} writes are left: {why}", left.len())]
pub struct Leftover {
    /// The writes that were not executed or whose outcome is unknown.
    pub left: BatchWrite,
    /// The error that stopped the batch.
    #[source]
    pub why: Error,
}

impl Dynamo {
    /// Executes the writes, up to 25 per call, and retries unprocessed writes.
    ///
    /// # Errors
    /// [`Leftover`] with the remaining writes, if a call failed, all retries were throttled, or the
    /// deadline passed.
    pub async fn batch_write(&self, batch: BatchWrite) -> Result<(), Leftover> {
        let mut left = batch.requests;
        let mut pauses = Pauses::new();
        while !left.is_empty() {
            let rest = left.split_off(left.len().min(MAX_WRITES));
            let sent = left.len();
            let unprocessed = match self.batch_write_once(left.clone()).await {
                Ok(unprocessed) => unprocessed,
                Err(why) => return Err(Leftover { left: BatchWrite { requests: [left, rest].concat() }, why }),
            };
            let (done, throttled) = (sent.saturating_sub(unprocessed.len()), !unprocessed.is_empty());
            left = unprocessed;
            left.extend(rest);
            if throttled && pauses.after(done).await.is_err() {
                return Err(Leftover { left: BatchWrite { requests: left }, why: Error::Throttled });
            }
        }
        Ok(())
    }

    async fn batch_write_once(
        &self,
        requests: Vec<(String, WriteRequest)>,
    ) -> Result<Vec<(String, WriteRequest)>, Error> {
        let mut by_table: HashMap<String, Vec<WriteRequest>> = HashMap::new();
        for (table, request) in requests {
            by_table.entry(table).or_default().push(request);
        }
        let request = self.client.batch_write_item().set_request_items(Some(by_table));
        let answer = usage::call(request.return_consumed_capacity(ReturnConsumedCapacity::Indexes).send()).await?;
        usage::count("BatchWriteItem", None, answer.consumed_capacity.iter().flatten());
        let unprocessed = answer.unprocessed_items.unwrap_or_default().into_iter();
        Ok(unprocessed
            .flat_map(|(table, requests)| requests.into_iter().map(move |request| (table.clone(), request)))
            .collect())
    }
}

impl Table {
    /// Reads the items with the keys, up to 100 per call. Missing items are omitted.
    ///
    /// Each item consumes as many read units as if it were read alone. Strongly consistent reads
    /// consume twice as many.
    ///
    /// # Errors
    /// A call failed, or an item cannot be deserialized as `T`.
    pub async fn get_all<T: Item>(&self, keys: &[Key], consistent: bool) -> Result<HashMap<Key, T>, Error> {
        let found = self.batch_get(keys, consistent).await?.into_iter();
        found.map(|(key, item)| Ok((key, read(item)?))).collect()
    }

    /// Reads the items with the keys, and retries unprocessed keys. Missing items are omitted.
    pub(crate) async fn batch_get(&self, keys: &[Key], consistent: bool) -> Result<HashMap<Key, Attributes>, Error> {
        let mut found = HashMap::with_capacity(keys.len());
        // DynamoDB rejects a call with duplicate keys.
        let keys: Vec<&Key> = keys.iter().collect::<HashSet<_>>().into_iter().collect();
        for chunk in keys.chunks(MAX_KEYS) {
            let mut left: Vec<Attributes> = chunk.iter().map(|key| key.attributes()).collect();
            let mut pauses = Pauses::new();
            while !left.is_empty() {
                let asked = left.len();
                let (items, unprocessed) = self.batch_get_once(left, consistent).await?;
                for item in items {
                    found.insert(Key::of(&item)?, item);
                }
                left = unprocessed;
                if !left.is_empty() {
                    pauses.after(asked.saturating_sub(left.len())).await?;
                }
            }
        }
        Ok(found)
    }

    async fn batch_get_once(
        &self,
        keys: Vec<Attributes>,
        consistent: bool,
    ) -> Result<(Vec<Attributes>, Vec<Attributes>), Error> {
        let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(consistent).build();
        let keys = keys.map_err(|error| Error::Rejected(error.to_string()))?;
        let request = self.dynamo.client.batch_get_item().request_items(&*self.name, keys);
        let answer = usage::call(request.return_consumed_capacity(ReturnConsumedCapacity::Indexes).send()).await?;
        usage::count("BatchGetItem", None, answer.consumed_capacity.iter().flatten());
        let items = answer.responses.unwrap_or_default().into_values().flatten().collect();
        let unprocessed =
            answer.unprocessed_keys.unwrap_or_default().into_values().flat_map(|left| left.keys).collect();
        Ok((items, unprocessed))
    }
}

/// The pauses between the retries of one batch. They grow until a retry makes progress, and then
/// start again.
struct Pauses(ExponentialBackoff);

impl Pauses {
    fn new() -> Self {
        Self(backoff().build())
    }

    /// Waits before the next retry. Returns an error if no retries or no time are left.
    async fn after(&mut self, done: usize) -> Result<(), Error> {
        usage::note(|usage| usage.retries += 1);
        if done > 0 {
            *self = Self::new();
        }
        let pause = self.0.next().ok_or(Error::Throttled)?;
        if usage::time_left() <= pause {
            return Err(Error::Throttled);
        }
        sleep(pause).await;
        Ok(())
    }
}
