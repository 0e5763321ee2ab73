//! What a transaction does to its accounts: the rules.

use crate::{
    Account, DOMAIN, Leg, Posted, Posting, Reversal,
    model::{account::LastLeg, transaction::Draft},
    store::missing,
};
use function::{Caller, Error, Problem};
use keys::{
    AccountId, Shard, TimestampMillis,
    ledger::{AccountStatus, LegType},
};
use money::Money;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use table::{Change, Refused, Table};

/// A transaction that the rules allow, and the accounts as they are before it.
#[derive(Debug)]
pub(crate) struct PostingPlan {
    pub(crate) posted: Posted,
    /// What says of another transaction that this one reverses it.
    undoes: Option<Reversal>,
    /// What each account is left, and by which leg.
    left: Vec<(Account, Money, LastLeg)>,
}

/// Where the header, and what says that another is reversed, stand among the changes.
const HEADER: usize = 0;
const REVERSAL: usize = 1;

impl PostingPlan {
    /// Applies the draft to the accounts as they were read.
    ///
    /// # Errors
    /// 403 for a debit of another's account, 404 for an account that is not there, 409 for what an account does not allow.
    pub(crate) fn new(
        draft: &Draft,
        accounts: &HashMap<AccountId, Account>,
        caller: &Caller,
        now: TimestampMillis,
        shard: Shard,
    ) -> Result<Self, Error> {
        // First of all, so that nobody learns anything of another's account by taking from it.
        for posting in draft.postings.iter().filter(|posting| posting.leg_type == LegType::Debit) {
            let account = accounts.get(&posting.account).ok_or_else(|| missing("account", caller))?;
            caller.must_be(&account.user, DOMAIN)?;
        }
        let created = after_all(accounts.values(), now);
        let (mut left, mut legs) = (BTreeMap::new(), Vec::with_capacity(draft.postings.len()));
        for (number, posting) in debited_first(&draft.postings) {
            let account = accounts.get(&posting.account).ok_or(Error::NotFound("account"))?;
            must_take(account, posting)?;
            let before = left.get(&posting.account).map_or_else(|| account.holds(), |(_, balance, _)| Ok(*balance))?;
            let after = before.checked_add(posting.change()).ok_or_else(|| too_much(account))?;
            must_hold(account, posting, after)?;
            let leg = Leg::new(&draft.id, number, posting, account, after, created);
            let last = LastLeg { transaction: draft.id.clone(), leg: leg.id.clone(), created };
            left.insert(&posting.account, (account.clone(), after, last));
            legs.push(leg);
        }
        legs.sort_by(|one, other| one.id.cmp(&other.id));
        let posted = Posted { transaction: draft.made(created, shard), legs, reversal: None };
        Ok(Self { posted, undoes: draft.undoes(created), left: left.into_values().collect() })
    }

    /// Whether it was refused for what is there already: itself, or another reversal.
    pub(crate) fn was_posted(&self, refused: &Refused) -> bool {
        refused.at(HEADER) || (self.undoes.is_some() && refused.at(REVERSAL))
    }

    /// The header first, then what says of another that this reverses it, and the legs, all of which must be new; and one change
    /// an account, which must be as it was read.
    pub(crate) fn changes(&self, table: &Table) -> Result<Vec<Change>, Error> {
        let mut changes = vec![table.put_new(&self.posted.transaction)?];
        if let Some(reversal) = &self.undoes {
            changes.push(table.put_new(reversal)?);
        }
        for leg in &self.posted.legs {
            changes.push(table.put_new(leg)?);
        }
        changes.extend(self.left.iter().map(|(account, balance, last)| account.after(table, *balance, last)));
        Ok(changes)
    }
}

/// The postings with their numbers, from 1, those of accounts that are taken from before the others, and each account's in their
/// order: what the caller's own accounts allow is settled before anything of another's is looked at.
fn debited_first(postings: &[Posting]) -> Vec<(usize, &Posting)> {
    let debits = postings.iter().filter(|posting| posting.leg_type == LegType::Debit);
    let debited: BTreeSet<_> = debits.map(|posting| &posting.account).collect();
    let mut numbered: Vec<_> = (1..).zip(postings).collect();
    numbered.sort_by_key(|(_, posting)| !debited.contains(&posting.account));
    numbered
}

/// Now, or the first moment after every account's last leg, where a clock is behind: times of an account never go backwards,
/// and no two transactions of one account have the same.
fn after_all<'a>(accounts: impl Iterator<Item = &'a Account>, now: TimestampMillis) -> TimestampMillis {
    accounts.filter_map(|account| account.last.as_ref()).map(|last| last.created.next()).fold(now, TimestampMillis::max)
}

fn must_take(account: &Account, posting: &Posting) -> Result<(), Error> {
    let id = &account.id;
    match account.status {
        AccountStatus::Active => {}
        AccountStatus::Frozen => {
            return Err(Error::Conflict(Problem::AccountFrozen, format!("Account {id} is frozen.")));
        }
        AccountStatus::Closed => {
            return Err(Error::Conflict(Problem::AccountClosed, format!("Account {id} is closed.")));
        }
    }
    if account.currency == posting.amount.currency() {
        return Ok(());
    }
    Err(Error::Conflict(Problem::CurrencyMismatch, format!("Account {id} takes {} only.", account.currency)))
}

/// No leg takes from an account that may not hold less than nothing more than it holds by then. What it holds is not told.
fn must_hold(account: &Account, posting: &Posting, after: Money) -> Result<(), Error> {
    if posting.leg_type == LegType::Credit || after.minor() >= 0 || account.allow_negative {
        return Ok(());
    }
    Err(Error::Conflict(Problem::InsufficientFunds, format!("Account {} does not hold enough.", account.id)))
}

fn too_much(account: &Account) -> Error {
    Error::Conflict(Problem::BalanceTooLarge, format!("Account {} can't hold more than 38 digits.", account.id))
}
