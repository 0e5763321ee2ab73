use crate::{Error, Fingerprint};
use keys::{IdempotencyKey, IdempotencySort, TimestampMillis};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fmt::Display;
use table::{Change, Item, Key, Table};

/// Retention of idempotency records, in seconds.
const WEEK: i64 = 7 * 24 * 60 * 60;

/// The outcome of a request with an idempotency key, kept for a week.
///
/// The record is written in the same transaction as the changes of the request. The outcome is
/// stored as JSON text, because its type differs between functions. The fingerprint detects a
/// different request with the same key.
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

/// A request that the caller may retry with the same idempotency key
/// (docs/decisions/idempotency.md).
#[derive(Debug, Clone)]
pub struct IdempotentRequest<'a> {
    /// The table that stores the record and the items of the request.
    pub table: &'a Table,
    /// The partition key of the record. It identifies the owner of the changed items.
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
    pub fn new(
        table: &'a Table,
        owner: &impl Display,
        key: Option<&'a IdempotencyKey>,
        request: Fingerprint,
        now: TimestampMillis,
    ) -> Self {
        Self { table, partition: owner.to_string(), key, request, now }
    }

    /// Returns the recorded outcome. Returns `None` if the request is new or has no idempotency
    /// key.
    ///
    /// # Errors
    /// Returns [`Error::KeyReused`] (422) if the key was already used for a different request.
    pub async fn before<O: DeserializeOwned>(&self) -> Result<Option<O>, Error> {
        let Some(key) = self.key else { return Ok(None) };
        let key = Key::new(&self.partition, &IdempotencySort(key.clone()));
        let Some(record) = self.table.get::<Record>(&key).await? else { return Ok(None) };
        if record.request != self.request {
            return Err(Error::KeyReused);
        }
        serde_json::from_str(&record.outcome).map(Some).map_err(|error| Error::Internal(error.to_string()))
    }

    /// Returns the change that records the outcome. Returns `None` if the request has no
    /// idempotency key.
    ///
    /// DynamoDB refuses the change if a record already exists.
    ///
    /// # Errors
    /// Returns [`Error::Internal`] if the outcome cannot be serialized.
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
