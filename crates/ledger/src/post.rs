//! Posts a transaction exactly once, even if calls to DynamoDB fail or time out
//! ([decision](../../../docs/decisions/idempotency.md)).

use crate::{
    Account, Hold, Merchant, Posted,
    model::{hold::Capture, posting_plan::PostingPlan, reference, reversal::Refund, transaction::Draft},
    store::Books,
};
use function::{Caller, Error, Fingerprint, Problem};
use futures::future::join3;
use keys::{
    AccountId, Random, Shard, TimestampMillis, TransactionId,
    ledger::{LegType, MerchantId},
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use table::{Error as Store, with_reserved_time};

/// Time reserved to read the outcome of a write whose response was lost.
pub(crate) const RESERVE: Duration = Duration::from_secs(1);

/// Maximum number of times that one attempt releases expired holds. The next attempt continues.
const MAX_RELEASES: usize = 20;

/// The caller whose permissions a transaction needs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Payer<'a> {
    /// The caller of a request.
    Caller(&'a Caller),
    /// The owner of the first debited account. The ledger posts for another service, which has
    /// checked that the payment may debit the account.
    Owner,
}

impl<'a> Payer<'a> {
    fn caller(self, draft: &Draft, accounts: &BTreeMap<AccountId, Account>) -> Cow<'a, Caller> {
        let Self::Caller(caller) = self else {
            let debited = draft.postings.iter().find(|posting| posting.leg_type == LegType::Debit);
            let account = debited.and_then(|posting| accounts.get(&posting.account));
            // If the account does not exist, no caller may debit it.
            return Cow::Owned(account.map(|account| Caller::user(&account.user)).unwrap_or_default());
        };
        Cow::Borrowed(caller)
    }
}

impl Books {
    /// Writes the transaction, its legs and the new balances atomically. If the same request has
    /// already posted the transaction, returns the posted transaction. Retries if another
    /// transaction changes an account first (docs/decisions/ledger-throughput.md).
    ///
    /// # Errors
    /// Returns:
    /// - the error of the first rule that the draft violates, or that it violated before, if that
    ///   refusal is final ([`crate::Transfers`]);
    /// - 422 if the idempotency key was used with a different request;
    /// - 409 if less remains of the transaction than the amount to reverse;
    /// - 409 if another transaction of the caller and type has the reference;
    /// - 429 or 503 if the outcome is unknown. A retry with the same idempotency key returns the
    ///   outcome.
    pub(crate) async fn post(
        &self,
        draft: &Draft,
        payer: Payer<'_>,
        now: TimestampMillis,
        random: &Random,
    ) -> Result<Posted, Error> {
        let mut is_first = true;
        let attempts = table::optimistically(
            || {
                let is_first = std::mem::take(&mut is_first);
                Box::pin(self.enter(draft, is_first, payer, now, self.shards.pick(random)))
            },
            is_stale,
        );
        match Box::pin(with_reserved_time(RESERVE, attempts)).await {
            Ok(posted) => Ok(posted),
            // After an error or a missing response, only a read shows whether the transaction was
            // written. A retry gets its outcome, even if a rule now rejects it.
            Err(error) => {
                if let Some(posted) = Box::pin(self.outcome(draft)).await? {
                    return Ok(posted);
                }
                // A concurrent reversal can be the cause: it may have emptied the account.
                if draft.reverses.is_some() {
                    self.with_current_items(draft).await?;
                }
                Err(unsettled(error))
            }
        }
    }

    /// Makes one attempt to write the transaction. The first attempt does not look for an earlier
    /// transaction, because the write fails if its header exists. The other attempts do: a retry of
    /// a posted request would otherwise compete with the transactions of a hot account.
    async fn enter(
        &self,
        draft: &Draft,
        is_first: bool,
        payer: Payer<'_>,
        now: TimestampMillis,
        shard: Shard,
    ) -> Result<Posted, Error> {
        let first = if is_first { Some(draft.with_rest()?) } else { None };
        let before = async { if is_first { Ok(None) } else { self.outcome(draft).await } };
        // The first attempt fails for good if the merchant does not exist.
        let merchant = draft.merchant.as_ref().filter(|_| is_first);
        let reads = join3(before, self.touched(draft, payer), self.knows(merchant));
        let (before, accounts, has_merchant) = Box::pin(reads).await;
        if let Some(posted) = before? {
            return Ok(posted);
        }
        let (accounts, has_merchant) = (accounts?, has_merchant?);
        let current = match first {
            Some(first) if !lacks_reserve(&first, &accounts) => first,
            _ => self.with_current_items(draft).await?,
        };
        if let Some(capture) = &current.capture {
            capture.must_be_allowed(now)?;
        }
        let (entry, _) = Box::pin(self.plan(&current, accounts, has_merchant, payer, now, shard)).await?;
        match self.dynamo.transact_once(entry.changes(&self.table)?).await {
            Ok(()) => Ok(entry.posted),
            Err(Store::Refused(refused)) if entry.was_posted(&refused) => {
                Box::pin(self.outcome(draft)).await?.ok_or_else(Error::stale)
            }
            Err(Store::Refused(refused)) if entry.has_used_reference(&refused) => {
                Err(reference::used(draft.reference.as_ref()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the draft with the current state of the hold that it captures, or of the transaction
    /// that it reverses, if any.
    async fn with_current_items<'a>(&self, draft: &'a Draft) -> Result<Cow<'a, Draft>, Error> {
        if let Some(Refund { original, asked }) = &draft.reverses {
            let original = self.transaction(&original.transaction.id).await?.ok_or_else(Error::stale)?;
            let reverses = Some(Refund { original, asked: *asked });
            return Ok(Cow::Owned(Draft { reverses, ..draft.clone() }.with_rest()?.into_owned()));
        }
        let Some(Capture { hold, asked, .. }) = &draft.capture else { return Ok(Cow::Borrowed(draft)) };
        let hold = self.table.get::<Hold>(&Hold::key_of(&hold.id)).await?.ok_or_else(Error::stale)?;
        let capture = Capture::new(hold, *asked)?;
        Ok(Cow::Owned(Draft { postings: capture.postings(), capture: Some(capture), ..draft.clone() }))
    }

    /// Applies the draft to the accounts. If a debited account lacks money only because of expired
    /// holds, releases them first. Returns the plan with the accounts that it applies to.
    ///
    /// # Errors
    /// The errors of [`PostingPlan::new`], and a conflict if the debited accounts change
    /// constantly.
    pub(crate) async fn plan(
        &self,
        draft: &Draft,
        mut accounts: BTreeMap<AccountId, Account>,
        has_merchant: bool,
        payer: Payer<'_>,
        now: TimestampMillis,
        shard: Shard,
    ) -> Result<(PostingPlan, BTreeMap<AccountId, Account>), Error> {
        for _ in 0..MAX_RELEASES {
            let caller = payer.caller(draft, &accounts);
            match PostingPlan::new(draft, &accounts, has_merchant, &caller, now, shard) {
                // The account has reserved the amount of a capture.
                Err(Error::Conflict(Problem::InsufficientFunds, why)) if has_holds(draft, &accounts) => {
                    let released = self.release_debited(draft, &accounts, now).await?;
                    let before = std::mem::replace(&mut accounts, self.touched(draft, payer).await?);
                    // Another request may have released the holds.
                    if released == 0 && debited(draft, &before).eq(debited(draft, &accounts)) {
                        return Err(Error::Conflict(Problem::InsufficientFunds, why));
                    }
                }
                plan => return Ok((plan?, accounts)),
            }
        }
        Err(Error::stale())
    }

    /// Releases the expired holds of the debited accounts. Returns the number of released holds.
    async fn release_debited(
        &self,
        draft: &Draft,
        accounts: &BTreeMap<AccountId, Account>,
        now: TimestampMillis,
    ) -> Result<usize, Error> {
        let mut released = 0;
        for account in debited(draft, accounts).filter(|account| account.held.is_some()) {
            released += self.release_expired(&account.id, now).await?;
        }
        Ok(released)
    }

    /// Reads the accounts of the draft, as [`Self::accounts`] does. For another service, every
    /// unreadable account is an error: it must not count as a missing one, because the refusal of a
    /// transfer is final.
    async fn touched(&self, draft: &Draft, payer: Payer<'_>) -> Result<BTreeMap<AccountId, Account>, Error> {
        let ids: BTreeSet<_> = draft.postings.iter().map(|posting| &posting.account).collect();
        if let Payer::Caller(caller) = payer {
            return self.accounts(ids.into_iter(), caller).await;
        }
        let keys: Vec<_> = ids.into_iter().map(Account::key_of).collect();
        let found = self.table.get_all::<Account>(&keys, true).await?.complete()?;
        Ok(found.into_values().map(|account| (account.id.clone(), account)).collect())
    }

    /// If the draft was already posted, reads the resulting transaction.
    async fn outcome(&self, draft: &Draft) -> Result<Option<Posted>, Error> {
        let mut found = self.collection(&draft.id).await?;
        if let Some(refusal) = found.refusal.take() {
            return Err(refusal.error());
        }
        let posted = match (found.readable()?, &draft.reverses) {
            (Some(posted), _) if posted.transaction.request == draft.request => posted,
            (Some(_), _) => return Err(Error::KeyReused),
            (None, None) => return Ok(None),
            // A retry without an idempotency key has another id, but the same fingerprint.
            (None, Some(refund)) => match self.reversal_by(refund, &draft.request).await? {
                None => return Ok(None),
                Some(reversal) => self.transaction(&reversal).await?.ok_or_else(Error::stale)?,
            },
        };
        // A response must never contain an incomplete transaction. A query can find a part of a
        // transaction that is being written.
        if posted.is_whole() { Ok(Some(posted)) } else { Err(Store::Underway.into()) }
    }

    /// Returns the reversal of the transaction that this request has posted, if any.
    async fn reversal_by(&self, refund: &Refund, request: &Fingerprint) -> Result<Option<TransactionId>, Error> {
        let original = self.transaction(&refund.original.transaction.id).await?;
        let mut reversals = original.map(|original| original.reversals).unwrap_or_default().into_iter();
        Ok(reversals.find(|reversal| reversal.request == *request).map(|reversal| reversal.id))
    }

    /// Whether the merchant exists. Returns `true` if `merchant` is `None`. Merchants are never
    /// deleted, so an eventually consistent read that finds one is enough. A condition check in the
    /// transaction would make the payments to one merchant conflict.
    pub(crate) async fn knows(&self, merchant: Option<&MerchantId>) -> Result<bool, Error> {
        let Some(key) = merchant.map(Merchant::key_of) else { return Ok(true) };
        let is_known = self.table.get_eventually::<Merchant>(&key).await?.is_some();
        Ok(is_known || self.table.get::<Merchant>(&key).await?.is_some())
    }
}

/// Returns the accounts that the draft debits, each once.
fn debited<'a>(draft: &'a Draft, accounts: &'a BTreeMap<AccountId, Account>) -> impl Iterator<Item = &'a Account> {
    let debits = draft.postings.iter().filter(|posting| posting.leg_type == LegType::Debit);
    let ids: BTreeSet<_> = debits.map(|posting| &posting.account).collect();
    ids.into_iter().filter_map(|id| accounts.get(id))
}

/// Whether holds reserve money on an account that the draft debits. A capture uses its own reserve.
fn has_holds(draft: &Draft, accounts: &BTreeMap<AccountId, Account>) -> bool {
    draft.capture.is_none() && debited(draft, accounts).any(|account| account.held.is_some())
}

/// Whether the payer's account lacks the reserve of a capture. Then the hold has changed before the
/// account was read.
fn lacks_reserve(draft: &Draft, accounts: &BTreeMap<AccountId, Account>) -> bool {
    let Some(Capture { hold, amount, .. }) = &draft.capture else { return false };
    accounts.get(&hold.debit).is_some_and(|account| !account.reserves(*amount))
}

/// Whether another attempt, which reads the items again, may succeed.
pub(crate) fn is_stale(error: &Error) -> bool {
    matches!(error, Error::Table(Store::Refused(_) | Store::Contended { .. } | Store::Underway))
}

/// Replaces a version conflict by an error that asks the caller to retry.
pub(crate) fn unsettled(error: Error) -> Error {
    match error {
        Error::Table(Store::Refused(_)) => Error::stale(),
        other => other,
    }
}
