use crate::{Error, Fingerprint};
use keys::{IdempotencyKey, IdempotencySort, TimestampMillis};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fmt::Display;
use table::{Change, Item, Key, Table};

/// Retention of an idempotency record, in seconds.
const WEEK: i64 = 7 * 24 * 60 * 60;

/// Outcome of a request with an idempotency key, kept for a week.
///
/// The record is written in the same transaction as the changes of the request. The outcome is JSON
/// text, because each function has its own type of outcome. The fingerprint detects a key that was
/// used for another function.
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

/// A request that may be repeated: its fingerprint and its idempotency key, if it has one.
#[derive(Debug, Clone)]
pub struct IdempotentRequest<'a> {
    /// The table of the record. The request writes to the same table.
    pub table: &'a Table,
    /// The partition key of the record: the owner of the changed items.
    pub partition: String,
    /// The `Idempotency-Key` of the caller, if present.
    pub key: Option<&'a IdempotencyKey>,
    /// The fingerprint of the request.
    pub request: Fingerprint,
    /// The time of the request.
    pub now: TimestampMillis,
}

impl<'a> IdempotentRequest<'a> {
    /// Creates an idempotent request for items of `owner`.
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

    /// Returns the recorded outcome of the request, or `None` if the request is new.
    ///
    /// # Errors
    /// Returns [`Error::KeyReused`] (422) if the key was used for another request.
    pub async fn before<O: DeserializeOwned>(&self) -> Result<Option<O>, Error> {
        let Some(key) = self.key else { return Ok(None) };
        let key = Key::new(&self.partition, &IdempotencySort(key.clone()));
        let Some(record) = self.table.get::<Record>(&key).await? else { return Ok(None) };
        if record.request != self.request {
            return Err(Error::KeyReused);
        }
        serde_json::from_str(&record.outcome).map(Some).map_err(|error| Error::Internal(error.to_string()))
    }

    /// Returns the write that records the outcome, or `None` for a request without a key.
    ///
    /// The write fails if a record exists.
    ///
    /// # Errors
    /// Returns [`Error::Internal`] if the outcome cannot be written as JSON.
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
