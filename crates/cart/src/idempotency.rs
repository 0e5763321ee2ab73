use crate::{Cart, Line, store::Days};
use function::{Error, Fingerprint};
use keys::{AccountId, IdempotencyKey, IdempotencySort, Milli, OrderId};
use serde::{Deserialize, Serialize};
use table::{Change, Item, Key};

/// What came of a request under an idempotency key: written in the same transaction as what it did, and kept for a week.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: IdempotencySort,
    request: Fingerprint,
    outcome: Outcome,
    expires_at: i64,
}

impl Item for Record {
    const TYPE: &'static str = "IdempotencyRecord";
}

/// Enough of the first answer to give it again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// The line that was made or grew, as it was then.
    Added { created: bool, line: Box<Line> },
    /// The order: its lines, which are final, all have its time.
    CheckedOut { order: OrderId, at: Milli },
}

/// A request that may come again: its key, if it has one, and what it asks.
#[derive(Debug, Clone)]
pub(crate) struct Once<'a> {
    pub(crate) account: &'a AccountId,
    pub(crate) key: Option<&'a IdempotencyKey>,
    pub(crate) request: Fingerprint,
    pub(crate) now: Milli,
}

impl Cart {
    /// What came of the request when it came before; none where this is the first time.
    ///
    /// # Errors
    /// 422 for a key that came with another request.
    pub(crate) async fn before(&self, once: &Once<'_>) -> Result<Option<Outcome>, Error> {
        let Some(key) = once.key else { return Ok(None) };
        let found = self.table.get::<Record>(&Key::new(once.account, &IdempotencySort(key.clone()))).await?;
        match found {
            Some(record) if record.request != once.request => Err(Error::KeyReused),
            found => Ok(found.map(|record| record.outcome)),
        }
    }

    /// What remembers the outcome, if nobody has; nothing for a request without a key.
    pub(crate) fn remember(&self, once: &Once<'_>, outcome: Outcome) -> Result<Option<Change>, Error> {
        let Some(key) = once.key else { return Ok(None) };
        let record = Record {
            account: once.account.clone(),
            sort: IdempotencySort(key.clone()),
            request: once.request.clone(),
            outcome,
            expires_at: Days::WEEK.after(once.now),
        };
        Ok(Some(self.table.put_new(&record)?))
    }
}
