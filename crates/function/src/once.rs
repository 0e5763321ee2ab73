use crate::{Error, Fingerprint};
use keys::{IdempotencyKey, IdempotencySort, TimestampMillis};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fmt::Display;
use table::{Change, Item, Key, Table};

/// How long the outcome of a request is kept, in seconds.
const WEEK: i64 = 7 * 24 * 60 * 60;

/// What came of a request under an idempotency key: written in the same transaction as what it did, and kept for a week.
///
/// The outcome is kept as JSON text: a key that another function used is told by the request, whatever came of that.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    #[serde(rename = "PK")]
    partition: String,
    #[serde(rename = "SK")]
    sort: IdempotencySort,
    request: Fingerprint,
    outcome: String,
    expires_at: i64,
}

impl Item for Record {
    const TYPE: &'static str = "IdempotencyRecord";
}

/// A request that may come again: its key, if it has one, and what it asks.
#[derive(Debug, Clone)]
pub struct IdempotentRequest<'a> {
    /// Where the record is kept: beside the items that the request changes.
    pub table: &'a Table,
    /// Under the partition key of the one who owns them.
    pub partition: String,
    /// What the caller sent as `Idempotency-Key`, if anything.
    pub key: Option<&'a IdempotencyKey>,
    /// What it asks.
    pub request: Fingerprint,
    /// When it came.
    pub now: TimestampMillis,
}

impl<'a> IdempotentRequest<'a> {
    /// A request for something of the owner.
    #[must_use]
    pub fn new(
        table: &'a Table,
        owner: &impl Display,
        key: Option<&'a IdempotencyKey>,
        request: Fingerprint,
        now: TimestampMillis,
    ) -> Self {
        Self { table, partition: owner.to_string(), key, request, now }
    }

    /// What came of the request when it came before; none where this is the first time.
    ///
    /// # Errors
    /// 422 for a key that came with another request.
    pub async fn before<O: DeserializeOwned>(&self) -> Result<Option<O>, Error> {
        let Some(key) = self.key else { return Ok(None) };
        let key = Key::new(&self.partition, &IdempotencySort(key.clone()));
        let Some(record) = self.table.get::<Record>(&key).await? else { return Ok(None) };
        if record.request != self.request {
            return Err(Error::KeyReused);
        }
        serde_json::from_str(&record.outcome).map(Some).map_err(|error| Error::Internal(error.to_string()))
    }

    /// What remembers the outcome, if nobody has; nothing for a request without a key.
    ///
    /// # Errors
    /// The outcome can't be written as JSON.
    pub fn remember(&self, outcome: &impl Serialize) -> Result<Option<Change>, Error> {
        let Some(key) = self.key else { return Ok(None) };
        let record = Record {
            partition: self.partition.clone(),
            sort: IdempotencySort(key.clone()),
            request: self.request.clone(),
            outcome: serde_json::to_string(outcome).map_err(|error| Error::Internal(error.to_string()))?,
            expires_at: self.now.second().instant().as_second() + WEEK,
        };
        Ok(Some(self.table.put_new(&record)?))
    }
}
