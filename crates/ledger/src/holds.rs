//! Creates, voids and releases holds ([decision](../../../docs/decisions/ledger-transfers.md)). A
//! capture is a transaction, which [`crate::post`] posts.

use crate::{
    Account, Hold,
    model::{
        hold::{HoldTerms, OpenHold, no_hold},
        transaction::Draft,
    },
    post::{Payer, RESERVE, is_stale, unsettled},
    store::Books,
};
use function::{Caller, Error, Fingerprint};
use keys::{
    AccountId, Random, TimestampMillis,
    ledger::{AccountPartition, HoldExpirySort, HoldId, HoldStatus},
};
use money::Money;
use table::{Key, Query, with_reserved_time};

/// Maximum number of holds that one transaction releases.
pub(crate) const MAX_RELEASED: usize = 50;

/// Returns whether the reservation failed because a hold with this id exists. A further attempt
/// would fail as well.
fn hold_exists(error: &Error) -> bool {
    matches!(error, Error::Table(table::Error::Refused(refused)) if refused.at(0))
}

fn for_caller(read: Result<Option<Hold>, table::Error>, caller: &Caller) -> Result<Hold, Error> {
    let hold = match read {
        Err(table::Error::Unreadable(..)) if !caller.operates(crate::DOMAIN) => return Err(Error::Forbidden),
        hold => hold?.ok_or_else(|| no_hold(caller))?,
    };
    hold.must_concern(caller)?;
    Ok(hold)
}

impl Books {
    /// Reads a hold for a caller, with strong consistency.
    ///
    /// # Errors
    /// Returns 403 if the caller is neither the payer nor the payee nor an operator. For a missing
    /// hold, operators get 404, and other callers get 403. An unreadable hold is an internal error
    /// for operators, and 403 for other callers.
    pub(crate) async fn hold(&self, id: &HoldId, caller: &Caller) -> Result<Hold, Error> {
        for_caller(self.table.get(&Hold::key_of(id)).await, caller)
    }

    /// Reads a hold for a caller with eventual consistency. If this read does not give a hold that
    /// the caller may see, it is read again as [`Self::hold`] does.
    ///
    /// # Errors
    /// The errors of [`Self::hold`].
    pub(crate) async fn hold_shown(&self, id: &HoldId, caller: &Caller) -> Result<Hold, Error> {
        match for_caller(self.table.get_eventually(&Hold::key_of(id)).await, caller) {
            Err(Error::Forbidden | Error::NotFound(_) | Error::Table(table::Error::Unreadable(..))) => {
                self.hold(id, caller).await
            }
            read => read,
        }
    }

    /// Puts the hold, and reserves its amount on the payer's account. `draft` is the capture of the
    /// whole amount, which must be allowed now.
    ///
    /// # Errors
    /// The errors of [`Books::post`], or 400 if the hold would be expired.
    pub(crate) async fn reserve(
        &self,
        terms: &HoldTerms,
        draft: &Draft,
        caller: &Caller,
        now: TimestampMillis,
        random: &Random,
    ) -> Result<Hold, Error> {
        let attempts = table::optimistically(
            || Box::pin(self.try_reserve(terms, draft, caller, now, random)),
            |error| is_stale(error) && !hold_exists(error),
        );
        let error = match Box::pin(with_reserved_time(RESERVE, attempts)).await {
            Ok(hold) => return Ok(hold),
            Err(error) => error,
        };
        // A retry gets the hold, even if a rule now rejects it.
        match self.table.get::<Hold>(&Hold::key_of(&terms.id)).await? {
            None => Err(unsettled(error)),
            Some(hold) if hold.request == terms.request => Ok(hold.when_opened()),
            Some(_) => Err(Error::KeyReused),
        }
    }

    async fn try_reserve(
        &self,
        terms: &HoldTerms,
        draft: &Draft,
        caller: &Caller,
        now: TimestampMillis,
        random: &Random,
    ) -> Result<Hold, Error> {
        if terms.expires_at <= now {
            return Err(Error::invalid("/body/expiresAt", "must be in the future"));
        }
        let accounts = self.accounts([&terms.debit, &terms.credit].into_iter(), caller).await?;
        let shard = self.shards.pick(random);
        let (plan, accounts) = Box::pin(self.plan(draft, accounts, true, Payer::Caller(caller), now, shard)).await?;
        drop(plan);
        let (Some(debited), Some(credited)) = (accounts.get(&terms.debit), accounts.get(&terms.credit)) else {
            return Err(Error::stale());
        };
        let hold = Hold::opened(terms, debited, credited, now, shard);
        let reserve = debited.reserving(&self.table, terms.amount)?;
        // [`hold_exists`] relies on this order.
        self.dynamo.transact_once(vec![self.table.put_new(&hold)?, reserve]).await?;
        Ok(hold)
    }

    /// Voids the hold, and releases what is not captured. Returns the voided hold.
    ///
    /// # Errors
    /// Returns 409 if the hold is captured, expired, or voided by another request. Otherwise
    /// returns the errors of [`Books::hold`], and 403 if the caller is not the payee.
    pub(crate) async fn void(
        &self,
        id: &HoldId,
        caller: &Caller,
        request: &Fingerprint,
        now: TimestampMillis,
    ) -> Result<Hold, Error> {
        let attempts = table::optimistically(|| Box::pin(self.try_void(id, caller, request, now)), is_stale);
        let error = match Box::pin(with_reserved_time(RESERVE, attempts)).await {
            Ok(hold) => return Ok(hold),
            Err(error @ (Error::Forbidden | Error::NotFound(_) | Error::Conflict(..))) => return Err(error),
            Err(error) => error,
        };
        // The response of the write may be lost.
        let hold = self.hold(id, caller).await?;
        if hold.voided_by.as_ref() == Some(request) { Ok(hold) } else { Err(unsettled(error)) }
    }

    async fn try_void(
        &self,
        id: &HoldId,
        caller: &Caller,
        request: &Fingerprint,
        now: TimestampMillis,
    ) -> Result<Hold, Error> {
        let mut hold = self.hold(id, caller).await?;
        caller.must_be(&hold.payee, crate::DOMAIN)?;
        if hold.voided_by.as_ref() == Some(request) {
            return Ok(hold);
        }
        hold.must_be_open(now)?;
        let account = self.table.get::<Account>(&Account::key_of(&hold.debit)).await?.ok_or_else(Error::stale)?;
        let rest = hold.uncaptured()?;
        // The hold may have changed before the account was read.
        if !account.reserves(rest) && self.hold(id, caller).await?.version != hold.version {
            return Err(Error::stale());
        }
        let release = account.reserving(&self.table, -rest)?;
        self.dynamo.transact_once(vec![hold.voided(&self.table, request), release]).await?;
        hold.status = HoldStatus::Voided;
        Ok(hold)
    }

    /// Releases expired holds of the account, at most [`MAX_RELEASED`]. Returns the number.
    ///
    /// # Errors
    /// The errors of [`Books::release`].
    pub(crate) async fn release_expired(&self, account: &AccountId, now: TimestampMillis) -> Result<usize, Error> {
        let (partition, mut rest) = (AccountPartition(account.clone()), HoldExpirySort::expired(now));
        loop {
            let expired = Query::new(&partition, &rest).on(&self.by_time);
            let page = self.table.page::<OpenHold>(&expired, MAX_RELEASED).await?;
            let holds: Vec<Key> = page.items.iter().map(|hold| Hold::key_of(&hold.partition.0)).collect();
            let released = if holds.is_empty() { 0 } else { self.release(account, &holds, now).await? };
            match page.next {
                // The index may still list holds that were released before.
                Some(position) if released == 0 => rest = rest.after(&position),
                _ => return Ok(released),
            }
        }
    }

    /// Releases those of the holds that reserve money on the account and are expired. Skips
    /// unreadable holds, and holds with an invalid amount. At most [`MAX_RELEASED`] holds.
    ///
    /// # Errors
    /// A call failed, the account is unreadable, or it lacks the reserve of a hold.
    pub(crate) async fn release(
        &self,
        account: &AccountId,
        holds: &[Key],
        now: TimestampMillis,
    ) -> Result<usize, Error> {
        table::optimistically(|| Box::pin(self.try_release(account, holds, now)), is_stale).await
    }

    async fn try_release(&self, account: &AccountId, holds: &[Key], now: TimestampMillis) -> Result<usize, Error> {
        // In this order, the account reserves at least what the holds reserve.
        let Some(account) = self.table.get::<Account>(&Account::key_of(account)).await? else { return Ok(0) };
        let holds = self.table.get_all::<Hold>(holds, true).await?;
        let is_due = |hold: &Hold| hold.is_open() && hold.expires_at <= now && hold.debit == account.id;
        let (mut released, mut changes) = (Money::zero(account.currency), Vec::new());
        for hold in holds.items.into_values().filter(is_due) {
            // A hold with an invalid amount does not stop the others.
            let Ok(rest) = hold.uncaptured() else { continue };
            released = released.checked_add(-rest).ok_or_else(Error::stale)?;
            changes.push(hold.closed(&self.table, HoldStatus::Expired));
        }
        let count = changes.len();
        if count > 0 {
            changes.push(account.reserving(&self.table, released)?);
            self.dynamo.transact_once(changes).await?;
        }
        Ok(count)
    }
}
