//! The rules for postings: whether an account accepts a leg, and the resulting balance.

use crate::{
    Account, DOMAIN, InboxItem, Leg, Posted, Posting, ReferenceGuard, Reversal,
    model::access::missing,
    model::{hold::Capture, leg::NewLeg, transaction::Draft},
};
use function::{Caller, Error, Problem};
use keys::{
    AccountId, Shard, TimestampMillis,
    ledger::{AccountStatus, LegType},
};
use money::Money;
use std::collections::BTreeMap;
use table::{Change, Refused, Table, Value};

/// A transaction that satisfies the rules, with the accounts as read before the write.
#[derive(Debug)]
pub(crate) struct PostingPlan {
    pub(crate) posted: Posted,
    /// The reversal marker for the original transaction, if this transaction is a reversal.
    undoes: Option<Reversal>,
    /// The guard of the transaction's reference, if it has one.
    guard: Option<ReferenceGuard>,
    /// The capture of a hold that this transaction posts, if any.
    capture: Option<Capture>,
    /// Each account that the transaction updates, after the transaction and with the version as
    /// read.
    left: Vec<Account>,
    /// The credits of accounts with grouped posting.
    inbox: Vec<InboxItem>,
}

/// Indexes of the header, and of the reversal marker or the guard of the reference, in the list of
/// changes. A reversal has no reference.
const HEADER: usize = 0;
const REVERSAL: usize = 1;
const GUARD: usize = 1;

impl PostingPlan {
    /// Applies the draft to the accounts.
    ///
    /// # Errors
    /// Returns, in this order:
    /// - 403 if the draft debits another user's account, or if a caller who is not an operator
    ///   debits a missing account;
    /// - 404 if `has_merchant` is false;
    /// - 409 if an account of the caller rejects one of its legs;
    /// - 409 `account-unavailable` if another user's account does not exist or rejects one of its
    ///   legs. Operators get 404 or the exact problem.
    ///
    /// A caller must pay to learn that another user's account accepts a leg. Errors that the caller
    /// can provoke are therefore reported before those of other users' accounts
    /// ([decision](../../../../docs/decisions/ledger-accounts.md)).
    pub(crate) fn new(
        draft: &Draft,
        accounts: &BTreeMap<AccountId, Account>,
        has_merchant: bool,
        caller: &Caller,
        now: TimestampMillis,
        shard: Shard,
    ) -> Result<Self, Error> {
        // The payer has allowed the captures of a hold.
        let debits = draft.postings.iter().filter(|posting| posting.leg_type == LegType::Debit);
        for posting in debits.filter(|_| draft.capture.is_none()) {
            let account = accounts.get(&posting.account).ok_or_else(|| missing("account", caller))?;
            caller.must_be(&account.user, DOMAIN)?;
        }
        if !has_merchant {
            return Err(Error::NotFound("merchant"));
        }
        let created = after_all(draft, accounts, now);
        let undoes = draft.undoes(created)?;
        let mut left: BTreeMap<&AccountId, Account> = BTreeMap::new();
        let (mut legs, mut inbox) = (Vec::with_capacity(draft.postings.len()), Vec::new());
        for (number, posting) in accessible_first(&draft.postings, accounts, caller) {
            let account = accounts.get(&posting.account);
            let is_disclosed = caller.operates(DOMAIN) || account.is_some_and(|account| account.is_of(caller));
            let account = left.get(&posting.account).or(account);
            let (account, after) = apply(account, posting, draft.capture.as_ref())
                .map_err(|error| if is_disclosed { error } else { undisclosed(error) })?;
            let reverses = draft.reverses.as_ref().zip(undoes.as_ref());
            let new = NewLeg {
                transaction: &draft.id,
                number,
                created,
                purpose: draft.purpose(posting),
                reverses: reverses.map(|(refund, marker)| refund.reversed_leg(marker, number, posting)),
            };
            if account.groups(posting) {
                let leg = Leg::grouped(new, posting, account);
                inbox.extend(InboxItem::of(&leg, number));
                legs.push(leg);
                continue;
            }
            let leg = Leg::new(new, posting, account, after);
            let mut account = account.clone();
            account.take(&leg);
            left.insert(&posting.account, account);
            legs.push(leg);
        }
        legs.sort_by(|one, other| one.id.cmp(&other.id));
        let (transaction, postings, reversals) = (draft.made(created, shard), Vec::new(), Vec::new());
        let posted = Posted { transaction, legs, postings, reversals };
        let (guard, capture) = (ReferenceGuard::of(&posted.transaction), draft.capture.clone());
        Ok(Self { posted, undoes, guard, capture, left: left.into_values().collect(), inbox })
    }

    /// Whether the write was rejected because this transaction already exists, or because another
    /// reversal of the original transaction was posted first.
    pub(crate) fn was_posted(&self, refused: &Refused) -> bool {
        refused.at(HEADER) || (self.undoes.is_some() && refused.at(REVERSAL))
    }

    /// Whether the write was rejected because another transaction has the reference.
    pub(crate) fn has_used_reference(&self, refused: &Refused) -> bool {
        self.guard.is_some() && refused.at(GUARD)
    }

    /// Returns the writes that post the transaction. The header, the reversal marker, the guard of
    /// the reference, the legs and the inbox items must not exist yet. Each account is updated
    /// once, on the condition that its version is unchanged. An account that receives grouped
    /// credits is not touched.
    pub(crate) fn changes(&self, table: &Table) -> Result<Vec<Change>, Error> {
        self.changes_with(table, |_, update| Ok(update))
    }

    /// Returns the writes of [`Self::changes`], with `also` applied to the update of each account.
    pub(crate) fn changes_with(
        &self,
        table: &Table,
        also: impl Fn(&AccountId, Change) -> Result<Change, table::Error>,
    ) -> Result<Vec<Change>, Error> {
        let mut changes = vec![table.put_new(&self.posted.transaction)?];
        if let Some(reversal) = &self.undoes {
            changes.push(table.put_new(reversal)?);
        }
        if let Some(guard) = &self.guard {
            changes.push(table.put_new(guard)?);
        }
        for leg in &self.posted.legs {
            changes.push(table.put_new(leg)?);
        }
        for item in &self.inbox {
            changes.push(table.put_new(item)?);
        }
        for account in &self.left {
            let update = account.posted(table)?;
            changes.push(also(&account.id, captured(self.capture.as_ref(), account, update)?)?);
        }
        if let Some(capture) = &self.capture {
            changes.push(capture.change(table)?);
        }
        Ok(changes)
    }
}

/// Adds the reserve that a capture uses up to the update of the payer's account.
fn captured(capture: Option<&Capture>, account: &Account, update: Change) -> Result<Change, Error> {
    match capture.filter(|capture| capture.hold.debit == account.id) {
        Some(capture) => {
            let held = account.held_after(-capture.amount)?;
            Ok(update.set(Account::HELD, Value::number(&held.amount())))
        }
        None => Ok(update),
    }
}

/// Numbers the postings from 1. Then sorts the accounts that the caller may access to the front,
/// and debits before credits.
fn accessible_first<'a>(
    postings: &'a [Posting],
    accounts: &BTreeMap<AccountId, Account>,
    caller: &Caller,
) -> Vec<(usize, &'a Posting)> {
    let mut numbered: Vec<_> = (1..).zip(postings).collect();
    numbered.sort_by_key(|(_, posting)| {
        let is_accessible = accounts.get(&posting.account).is_some_and(|account| account.is_of(caller));
        (!is_accessible, posting.leg_type != LegType::Debit)
    });
    numbered
}

/// Returns the account and its balance after the posting. `account` already has the account's
/// previous postings of the same transaction.
fn apply<'a>(
    account: Option<&'a Account>,
    posting: &Posting,
    capture: Option<&Capture>,
) -> Result<(&'a Account, Money), Error> {
    let account = account.ok_or(Error::NotFound("account"))?;
    must_take(account, posting)?;
    let after = account.readable_balance()?.checked_add(posting.change()).ok_or_else(|| too_large(account))?;
    must_hold(account, posting, after, capture)?;
    Ok((account, after))
}

/// Replaces the problem of another user's account by one that discloses nothing about the account.
fn undisclosed(error: Error) -> Error {
    match error {
        Error::Conflict(..) | Error::NotFound(_) | Error::Table(table::Error::Unreadable(..)) => unavailable(),
        other => other,
    }
}

/// The problem of an account that the caller may not access. It does not name the account:
/// otherwise, a transaction with a missing account would show whether the other accounts are
/// available, without any payment.
pub(crate) fn unavailable() -> Error {
    let detail = "An account of another user is not available for this transaction.".to_owned();
    Error::Conflict(Problem::AccountUnavailable, detail)
}

/// Returns the time of the transaction: the later of `now` and one millisecond after the newest leg
/// of the accounts that it updates. If clocks differ, a leg may be newer than `now`. No two
/// transactions of an account have the same time.
fn after_all(draft: &Draft, accounts: &BTreeMap<AccountId, Account>, now: TimestampMillis) -> TimestampMillis {
    let touched = draft.postings.iter().filter_map(|posting| {
        let account = accounts.get(&posting.account)?;
        (!account.groups(posting)).then_some(account)
    });
    touched.filter_map(|account| account.last.as_ref()).map(|last| last.created.next()).fold(now, TimestampMillis::max)
}

fn must_take(account: &Account, posting: &Posting) -> Result<(), Error> {
    let id = &account.id;
    match account.status {
        AccountStatus::Active => {}
        AccountStatus::Frozen => {
            return Err(Error::Conflict(Problem::AccountFrozen, format!("Account {id} is frozen.")));
        }
        AccountStatus::Closing => {
            return Err(Error::Conflict(Problem::AccountClosed, format!("Account {id} is being closed.")));
        }
        AccountStatus::Closed => {
            return Err(Error::Conflict(Problem::AccountClosed, format!("Account {id} is closed.")));
        }
    }
    if account.currency == posting.amount.currency() {
        return Ok(());
    }
    Err(Error::Conflict(Problem::CurrencyMismatch, format!("Account {id} accepts only {}.", account.currency)))
}

/// Checks that a debit leaves at least the amount that holds reserve, unless the account allows a
/// negative balance. The available amount must always fit its type. A capture uses up the reserve
/// of its hold. The error does not disclose the balance.
fn must_hold(account: &Account, posting: &Posting, after: Money, capture: Option<&Capture>) -> Result<(), Error> {
    if posting.leg_type == LegType::Credit {
        return Ok(());
    }
    let held = match capture.filter(|capture| capture.hold.debit == account.id) {
        Some(capture) => account.held_after(-capture.amount)?,
        None => account.readable_held()?,
    };
    let available = after.checked_add(-held).ok_or_else(|| too_large(account))?;
    if account.allow_negative || available.minor() >= 0 {
        return Ok(());
    }
    Err(Error::Conflict(Problem::InsufficientFunds, format!("Account {} has insufficient funds.", account.id)))
}

/// The problem of a balance, a reserved amount or an available amount of more than 38 digits.
pub(crate) fn too_large(account: &Account) -> Error {
    let detail = format!("The balance of account {} cannot have more than 38 digits.", account.id);
    Error::Conflict(Problem::BalanceTooLarge, detail)
}
