use crate::{
    Attribute, Dynamo, Error, Item, Key, Page, Query, Table,
    condition::Placeholders,
    error::{backoff, call},
    item::{read, written},
    key::Attributes,
    query::complete,
    usage,
};
use aws_sdk_dynamodb::types::{DeleteRequest, KeysAndAttributes, PutRequest, ReturnConsumedCapacity, WriteRequest};
use backon::{BackoffBuilder, ExponentialBackoff};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
};
use tokio::time::sleep;

/// Maximum number of keys in one `BatchGetItem` (DynamoDB limit).
const MAX_KEYS: usize = 100;
/// Maximum number of writes in one `BatchWriteItem` (DynamoDB limit).
const MAX_WRITES: usize = 25;

/// A batch of unconditional, independent writes. A batch needs fewer calls than separate writes.
#[derive(Clone, Default)]
pub struct BatchWrite {
    requests: Vec<(String, WriteRequest)>,
}

/// Prints only the number of writes, because errors are logged and items are customer data.
impl fmt::Debug for BatchWrite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("BatchWrite").field("writes", &self.len()).finish()
    }
}

impl BatchWrite {
    /// Adds a put. The put replaces any stored item with the same key.
    pub fn put<T: Item>(&mut self, table: &Table, item: &T) -> Result<(), Error> {
        let put = PutRequest::builder().set_item(Some(written(item)?)).build();
        let put = put.map_err(|error| Error::Rejected(error.to_string()))?;
        self.requests.push((table.name.to_string(), WriteRequest::builder().put_request(put).build()));
        Ok(())
    }

    /// Adds a delete. The delete also succeeds if no item has this key.
    ///
    /// # Errors
    /// The SDK rejects the request. This cannot happen with a valid key.
    pub fn delete(&mut self, table: &Table, key: &Key) -> Result<(), Error> {
        let delete = DeleteRequest::builder().set_key(Some(key.attributes())).build();
        let delete = delete.map_err(|error| Error::Rejected(error.to_string()))?;
        self.requests.push((table.name.to_string(), WriteRequest::builder().delete_request(delete).build()));
        Ok(())
    }

    /// The number of writes.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns whether the batch has no writes.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

/// The error of an incomplete batch, with the remaining writes.
#[derive(Debug, thiserror::Error)]
#[error("{} writes remain: {why}", left.len())]
pub struct Leftover {
    /// The remaining writes: not executed, or with an unknown outcome.
    pub left: BatchWrite,
    /// The error that stopped the batch.
    #[source]
    pub why: Error,
}

impl Dynamo {
    /// Executes the writes in calls of up to 25, and retries unprocessed writes.
    ///
    /// # Errors
    /// [`Leftover`] with the remaining writes. The reason is a failed call, persistent throttling,
    /// or the deadline.
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
        let answer = call(request.return_consumed_capacity(ReturnConsumedCapacity::Indexes).send()).await?;
        usage::count("BatchWriteItem", None, answer.consumed_capacity.iter().flatten());
        let unprocessed = answer.unprocessed_items.unwrap_or_default().into_iter();
        Ok(unprocessed
            .flat_map(|(table, requests)| requests.into_iter().map(move |request| (table.clone(), request)))
            .collect())
    }
}

/// The items that a batch read found.
#[derive(Debug)]
pub struct Found<T> {
    /// The items, in the order of their keys.
    pub items: BTreeMap<Key, T>,
    /// Keys of the items that could not be deserialized.
    pub unreadable: Vec<Key>,
}

impl<T: Item> Found<T> {
    /// Returns the items. Use this method if the caller's decision needs every item.
    ///
    /// # Errors
    /// An item could not be deserialized.
    pub fn complete(self) -> Result<BTreeMap<Key, T>, Error> {
        complete::<T>(self.unreadable.len()).map(|()| self.items)
    }
}

impl Table {
    /// Reads the items with these keys in calls of up to 100. The result omits missing items.
    ///
    /// Consumes the same RRU as separate reads: per item, half an RRU per 4 KB, rounded up.
    /// Strongly consistent reads consume twice as much.
    pub async fn get_all<T: Item>(&self, keys: &[Key], consistent: bool) -> Result<Found<T>, Error> {
        self.get_all_attributes(keys, consistent, &[]).await
    }

    /// Reads the items as [`Table::get_all`] does, but only these attributes of `T`, which must
    /// include the primary key. This saves time and memory, but no RRU. Without attributes, reads
    /// all of them.
    pub async fn get_all_attributes<T: Item>(
        &self,
        keys: &[Key],
        consistent: bool,
        attributes: &[Attribute],
    ) -> Result<Found<T>, Error> {
        let mut found = Found { items: BTreeMap::new(), unreadable: Vec::new() };
        for (key, item) in self.batch_get(keys, consistent, attributes).await? {
            match read(item) {
                Ok(item) => drop(found.items.insert(key, item)),
                Err(_) => found.unreadable.push(key),
            }
        }
        Ok(found)
    }

    /// Reads items that exist, such as those that an index lists. Reads them as
    /// [`Table::get_all_attributes`] does, with eventual consistency, and then those that a replica
    /// does not have yet with strong consistency.
    pub async fn get_existing<T: Item>(&self, keys: &[Key], attributes: &[Attribute]) -> Result<Found<T>, Error> {
        let mut found = self.get_all_attributes::<T>(keys, false, attributes).await?;
        let is_missing = |key: &&Key| !found.items.contains_key(*key) && !found.unreadable.contains(*key);
        let missing: Vec<Key> = keys.iter().filter(is_missing).cloned().collect();
        let again = self.get_all_attributes(&missing, true, attributes).await?;
        found.items.extend(again.items);
        found.unreadable.extend(again.unreadable);
        Ok(found)
    }

    /// Reads a page of an index, and the items of its entries by key. Use this method if the index
    /// does not project all attributes of `T`. Without `consistent`, reads the items as
    /// [`Table::get_existing`] does.
    ///
    /// Consumes the RRU of [`Table::page`] for the entries and of [`Table::get_all`] for the items.
    pub async fn page_by_key<T: Item>(
        &self,
        query: &Query<'_>,
        limit: usize,
        consistent: bool,
    ) -> Result<Page<T>, Error> {
        let Page { items: keys, next, skipped } = self.page::<Key>(query, limit).await?;
        let found = if consistent { self.get_all(&keys, true).await } else { self.get_existing(&keys, &[]).await };
        let Found { mut items, unreadable } = found?;
        let items = keys.iter().filter_map(|key| items.remove(key)).collect();
        Ok(Page { items, next, skipped: skipped + unreadable.len() })
    }

    /// Reads the items with these keys, and retries unprocessed keys. The result omits missing
    /// items. Without `attributes`, the items have all of their attributes.
    pub(crate) async fn batch_get(
        &self,
        keys: &[Key],
        consistent: bool,
        attributes: &[Attribute],
    ) -> Result<BTreeMap<Key, Attributes>, Error> {
        let mut found = BTreeMap::new();
        // DynamoDB rejects duplicate keys in a call.
        let keys: Vec<&Key> = keys.iter().collect::<BTreeSet<_>>().into_iter().collect();
        for chunk in keys.chunks(MAX_KEYS) {
            let mut left: Vec<Attributes> = chunk.iter().map(|key| key.attributes()).collect();
            let mut pauses = Pauses::new();
            while !left.is_empty() {
                let asked = left.len();
                let (items, unprocessed) = self.batch_get_once(left, consistent, attributes).await?;
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
        attributes: &[Attribute],
    ) -> Result<(Vec<Attributes>, Vec<Attributes>), Error> {
        let mut placeholders = Placeholders::default();
        let names: Vec<String> = attributes.iter().map(|attribute| placeholders.name(&(*attribute).into())).collect();
        let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(consistent);
        let keys = keys.set_projection_expression((!names.is_empty()).then(|| names.join(", ")));
        let keys = keys.set_expression_attribute_names((!names.is_empty()).then_some(placeholders.names)).build();
        let keys = keys.map_err(|error| Error::Rejected(error.to_string()))?;
        let request = self.dynamo.client.batch_get_item().request_items(&*self.name, keys);
        let answer = call(request.return_consumed_capacity(ReturnConsumedCapacity::Indexes).send()).await?;
        usage::count("BatchGetItem", None, answer.consumed_capacity.iter().flatten());
        let items = answer.responses.unwrap_or_default().into_values().flatten().collect();
        let unprocessed =
            answer.unprocessed_keys.unwrap_or_default().into_values().flat_map(|left| left.keys).collect();
        Ok((items, unprocessed))
    }
}

/// The pauses between the retries of one batch. Pauses grow until a retry makes progress, and then
/// restart at the shortest pause.
struct Pauses(ExponentialBackoff);

impl Pauses {
    fn new() -> Self {
        Self(backoff().build())
    }

    /// Waits before the next retry. Returns [`Error::Throttled`] if no retries remain, or too
    /// little time. `done` is the number of processed writes or keys.
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
