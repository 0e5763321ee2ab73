//! How a transaction is posted: once, whatever becomes of the calls.

use crate::{
    Account, Ledger, Merchant, Posted, Reversal,
    model::{posting_plan::PostingPlan, transaction::Draft},
};
use function::{Caller, Error, Problem};
use futures::future::try_join3;
use keys::{AccountId, Random, Shard, TimestampMillis, ledger::MerchantId};
use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};
use table::{Error as Store, with_reserved_time};

/// Time that is kept to look what became of a transaction whose answer did not come.
const RESERVE: Duration = Duration::from_secs(1);

impl Ledger {
    /// Writes the transaction, its legs and what they leave in the accounts, all or nothing; or answers what it became before.
    ///
    /// # Errors
    /// What the rules refuse; 422 where the key came with another request, 409 where another request reversed the transaction;
    /// 429 or 503 where it is not done and not known to be: the same request again finds out.
    pub(crate) async fn post(
        &self,
        draft: &Draft,
        caller: &Caller,
        now: TimestampMillis,
        random: &Random,
    ) -> Result<Posted, Error> {
        let reads = try_join3(self.outcome(draft), self.touched(draft), self.knows(draft.merchant.as_ref()));
        let (before, accounts, has_merchant) = Box::pin(reads).await?;
        if let Some(posted) = before {
            return Ok(posted);
        }
        let mut known = Some(accounts);
        let attempts = table::optimistically(
            || Box::pin(self.enter(draft, known.take(), has_merchant, caller, now, self.shards.pick(random))),
            |error| matches!(error, Error::Table(Store::Refused(_) | Store::Contended { .. })),
        );
        match Box::pin(with_reserved_time(RESERVE, attempts)).await {
            Ok(posted) => Ok(posted),
            // Whatever is in the way, and also where the answer did not come: only what is there tells whether it has happened.
            Err(error) => Box::pin(self.outcome(draft)).await?.ok_or_else(|| unsettled(error)),
        }
    }

    /// One try, with the accounts as they were read or as they are now.
    async fn enter(
        &self,
        draft: &Draft,
        accounts: Option<HashMap<AccountId, Account>>,
        has_merchant: bool,
        caller: &Caller,
        now: TimestampMillis,
        shard: Shard,
    ) -> Result<Posted, Error> {
        let accounts = match accounts {
            Some(accounts) => accounts,
            None => self.touched(draft).await?,
        };
        let entry = PostingPlan::new(draft, &accounts, caller, now, shard)?;
        if !has_merchant {
            return Err(Error::NotFound("merchant"));
        }
        match self.dynamo.transact_once(entry.changes(&self.table)?).await {
            Ok(()) => Ok(entry.posted),
            Err(Store::Refused(refused)) if entry.was_posted(&refused) => {
                Box::pin(self.outcome(draft)).await?.ok_or_else(Error::stale)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The accounts of the draft, as far as they exist.
    async fn touched(&self, draft: &Draft) -> Result<HashMap<AccountId, Account>, Error> {
        let ids: BTreeSet<_> = draft.postings.iter().map(|posting| &posting.account).collect();
        self.accounts(ids.into_iter()).await
    }

    /// What became of the draft, if it was posted.
    async fn outcome(&self, draft: &Draft) -> Result<Option<Posted>, Error> {
        let posted = match (self.transaction(&draft.id).await?, &draft.reverses) {
            (Some(posted), _) if posted.transaction.request == draft.request => posted,
            (Some(_), _) => return Err(Error::KeyReused),
            (None, None) => return Ok(None),
            (None, Some(original)) => match self.table.get::<Reversal>(&Reversal::key_of(original)).await? {
                None => return Ok(None),
                Some(reversal) if reversal.request == draft.request => {
                    self.transaction(&reversal.id).await?.ok_or_else(Error::stale)?
                }
                Some(_) => {
                    let why = "The transaction was reversed before.".to_owned();
                    return Err(Error::Conflict(Problem::AlreadyReversed, why));
                }
            },
        };
        // A part of it is not what was answered.
        if posted.is_whole() { Ok(Some(posted)) } else { Err(Error::stale()) }
    }

    /// Whether there is such a merchant, where one is named.
    async fn knows(&self, merchant: Option<&MerchantId>) -> Result<bool, Error> {
        let Some(id) = merchant else { return Ok(true) };
        Ok(self.table.get::<Merchant>(&Merchant::key_of(id)).await?.is_some())
    }
}

/// What is told where others kept getting in between: to come again.
fn unsettled(error: Error) -> Error {
    match error {
        Error::Table(Store::Refused(_)) => Error::stale(),
        other => other,
    }
}
