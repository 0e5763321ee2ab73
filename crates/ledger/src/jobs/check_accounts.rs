//! Checks accounts ([decision](../../../../docs/decisions/ledger-reconciliation.md)):
//! - The balance of an account equals the balance after its last leg.
//! - The balance before each leg in the window equals the balance after the previous leg.
//! - The hash of each leg in the window follows from its contents and from the previous leg.
//! - Each leg in the window belongs to a transaction.
//! - Each posting and each inbox item belongs to a grouped credit ([`super::check_grouped`]).
//! - The reserved amount of an account equals the sum of its open holds ([`super::check_holds`]).

use crate::{
    Account, Ledger, Leg, Transaction,
    jobs::check_transactions::{Known, SIDE_BY_SIDE},
    model::{
        account::Listed,
        accounts_progress::{AccountWalk, AccountsProgress, BrokenLeg, HoldsWalk, PendingLeg},
        reconciliation::{Fault, Kind, Reconciliation, Window},
    },
};
use function::Error;
use futures::{StreamExt, TryStreamExt, stream};
use keys::{
    AccountId, KeyRange, TimestampMillis,
    ledger::{AccountPartition, AccountsPartition, FindingSort, LegTimeSort},
};
use money::Money;
use table::{Found, Key, Page, Query};

/// Maximum number of accounts that a step reads from the list. If at least this many accounts still
/// have unchecked legs, a step reads no further accounts.
const PAGE: usize = 50;
/// Maximum number of legs that a step reads for each account.
const LEGS: usize = 500;
/// Maximum number of legs to read between two legs that appear to be consecutive.
const MAX_BETWEEN: usize = 100;

/// Two consecutive legs whose balances or hashes do not match. `older` is `None` if `newer` is the
/// first leg of its account.
struct Break {
    newer: Leg,
    older: Option<Leg>,
}

/// Returns the first break in `legs`, which must be sorted newest first. If `is_beginning` is true,
/// the oldest leg must be the first leg of its account.
fn first_break(legs: &[Leg], is_beginning: bool) -> Option<Break> {
    let pairs = legs.iter().zip(legs.iter().skip(1).map(Some).chain([None]));
    let pairs = pairs.filter(|(_, older)| older.is_some() || is_beginning);
    let mut breaks = pairs.filter(|(newer, older)| !PendingLeg::of(newer).follows(*older));
    breaks.next().map(|(newer, older)| Break { newer: newer.clone(), older: older.cloned() })
}

/// The result of a step that checks accounts.
pub(crate) struct AccountsPage {
    pub(crate) accounts: usize,
    pub(crate) faults: Vec<Fault>,
    pub(crate) at: AccountsProgress,
}

impl Ledger {
    /// Checks the balances of the next accounts. Then checks one page of legs for each account that
    /// has unchecked legs.
    pub(crate) async fn check_accounts(
        &self,
        of: &Reconciliation,
        mut at: AccountsProgress,
        known: &Known,
        now: TimestampMillis,
    ) -> Result<AccountsPage, Error> {
        let (mut accounts, mut faults) = (0, Vec::new());
        if !at.listed && at.open.len().max(at.holds.len()) < PAGE {
            let (all, partition) = (AccountPartition::all(), AccountsPartition);
            let rest = at.after.as_ref().map_or_else(|| all.clone(), |after| all.after(after));
            let list = Query::new(&partition, &rest).on(&self.by_key);
            let (page, unreadable) = self.books.table.page_with_unreadable::<Listed>(&list, PAGE).await?;
            (at.listed, at.after) = (page.next.is_none(), page.next);
            let ids: Vec<AccountId> = page.items.into_iter().map(|entry| entry.partition.0).collect();
            let before = at.open.len();
            let found = self.check_balances(of, &ids, &mut at, now).await?;
            accounts = at.open.len() - before;
            faults.extend(unreadable.iter().map(Fault::unreadable).chain(found));
        }
        let (holds, found) = self.check_holds(std::mem::take(&mut at.holds)).await?;
        at.holds = holds;
        faults.extend(found);
        let walks = stream::iter(std::mem::take(&mut at.open)).map(|walk| self.walk(of, walk, known));
        let walked: Vec<_> = walks.buffered(SIDE_BY_SIDE).try_collect().await?;
        for (rest, found) in walked {
            at.open.extend(rest);
            faults.extend(found);
        }
        Ok(AccountsPage { accounts, faults, at })
    }

    /// Checks the balance of each account against its last leg. Adds the accounts to those that
    /// have unchecked legs and holds.
    ///
    /// Payments during the check cause no false findings. The accounts are read before the legs, so
    /// the last leg of each account is already stored. A stored leg never changes.
    async fn check_balances(
        &self,
        of: &Reconciliation,
        ids: &[AccountId],
        at: &mut AccountsProgress,
        now: TimestampMillis,
    ) -> Result<Vec<Fault>, Error> {
        let keys: Vec<Key> = ids.iter().map(Account::key_of).collect();
        let accounts = self.books.table.get_all::<Account>(&keys, true).await?;
        let keys: Vec<Key> = accounts.items.values().filter_map(Account::last_key).collect();
        let legs = self.books.table.get_all::<Leg>(&keys, true).await?;
        let mut faults = Vec::new();
        at.holds.extend(accounts.items.values().map(HoldsWalk::new));
        for account in accounts.items.values().filter(|account| account.has_inbox()) {
            faults.extend(self.check_inbox(&account.id, &of.id, now).await?);
        }
        for account in accounts.items.into_values() {
            let fault = self.check_balance(&account, &legs).await?;
            let is_of_account = |fault: &Fault| matches!(fault.what.kind, Kind::WrongBalance | Kind::BrokenChain);
            let (last, reported) = (account.last_at(), fault.as_ref().is_some_and(is_of_account));
            at.open.push(AccountWalk::new(account.id, last, reported));
            faults.extend(fault);
        }
        // Without the account, the balances of its legs cannot be checked. The legs must still
        // belong to transactions.
        for id in ids.iter().filter(|id| accounts.unreadable.contains(&Account::key_of(id))) {
            at.open.push(AccountWalk::new(id.clone(), None, true));
            faults.push(Fault::unreadable(&Account::key_of(id)));
        }
        Ok(faults)
    }

    async fn check_balance(&self, account: &Account, legs: &Found<Leg>) -> Result<Option<Fault>, Error> {
        let wrong = |expected| Fault::balance(&account.id, None, expected, Some(account.shown_balance()));
        let (holds, key) = (account.holds().ok(), account.last_key());
        if let Some(key) = key.as_ref().filter(|key| legs.unreadable.contains(key)) {
            return Ok(Some(Fault::unreadable(key)));
        }
        match (&account.last, key.and_then(|key| legs.items.get(&key))) {
            (Some(_), Some(leg)) if holds.is_none() || holds != leg.after() => Ok(Some(wrong(leg.shown_after()))),
            (Some(last), Some(leg)) => {
                Ok((Some(last.hash) != leg.hash()).then(|| Fault::broken_chain(&account.id, BrokenLeg::of(leg))))
            }
            (Some(last), None) => {
                // Report the missing leg if its transaction exists.
                let found = self.books.collection(&last.transaction).await?;
                let grouped = found.posted.iter().flat_map(|posted| &posted.legs).filter(|leg| leg.id == last.leg);
                let faults = found.faults().into_iter().chain(self.check_grouped(grouped).await?);
                let mut missing = faults.filter(|fault| fault.is_missing(&last.leg));
                Ok(Some(missing.next().unwrap_or_else(|| wrong(None))))
            }
            (None, _) => {
                let nothing = Money::zero(account.currency);
                Ok((holds != Some(nothing)).then(|| wrong(Some(nothing.amount()))))
            }
        }
    }

    /// Checks the next page of an account's legs. Returns the discrepancies. Also returns the
    /// updated progress, unless this page was the last one.
    async fn walk(
        &self,
        of: &Reconciliation,
        mut walk: AccountWalk,
        known: &Known,
    ) -> Result<(Option<AccountWalk>, Vec<Fault>), Error> {
        let Window { from, to } = of.window;
        let all = LegTimeSort::between(from, to).newest_first();
        let rest = walk.after.as_ref().map_or_else(|| all.clone(), |after| all.after(after));
        let (page, unreadable) = self.legs(&walk.account, &rest, LEGS).await?;
        let mut faults = self.check_belonging(&page.items, known).await?;
        faults.extend(unreadable.iter().map(Fault::unreadable));
        for leg in &page.items {
            let found = match walk.newer.take() {
                Some(newer) => self.check_pair(of, &mut walk, &newer, Some(leg)).await?,
                None => self.check_newest(&walk, leg).await?,
            };
            walk.newer = Some(PendingLeg::of(leg));
            walk.reported |= found.is_some();
            faults.extend(found);
        }
        walk.after = page.next;
        if walk.after.is_some() {
            return Ok((Some(walk), faults));
        }
        if let Some(first) = walk.newer.take() {
            let (opening, _) = self.legs(&walk.account, &LegTimeSort::before(from).newest_first(), 1).await?;
            let found = self.check_pair(of, &mut walk, &first, opening.items.first()).await?;
            walk.reported |= found.is_some();
            faults.extend(found);
        }
        // The walk ends at the oldest leg, so only now is the first broken leg known.
        let broken = walk.broken.filter(|_| !walk.reported);
        faults.extend(broken.map(|leg| Fault::broken_chain(&walk.account, leg)));
        Ok((None, faults))
    }

    /// Reads a page of legs, and the keys of its unreadable legs.
    async fn legs(&self, account: &AccountId, range: &KeyRange, limit: usize) -> Result<(Page<Leg>, Vec<Key>), Error> {
        let partition = AccountPartition(account.clone());
        Ok(self.books.table.page_with_unreadable(&Query::new(&partition, range).on(&self.books.by_time), limit).await?)
    }

    /// Reports each leg whose transaction does not exist or does not list the leg. If the
    /// transaction has discrepancies, its legs are not reported here. Reports unreadable headers.
    async fn check_belonging(&self, legs: &[Leg], known: &Known) -> Result<Vec<Fault>, Error> {
        let mut faults = self.check_postings(legs.iter().filter(|leg| leg.is_settled()).collect()).await?;
        let legs: Vec<&Leg> = legs.iter().filter(|leg| !leg.is_settled() && !known.has(leg)).collect();
        let keys: Vec<Key> = legs.iter().map(|leg| Transaction::key_of(leg.transaction())).collect();
        let headers = self.books.table.get_all::<Transaction>(&keys, false).await?;
        faults.extend(headers.unreadable.iter().map(Fault::unreadable));
        for (leg, key) in legs.iter().zip(&keys) {
            let is_listed = headers.items.get(key).is_some_and(|header| header.knows(leg));
            if is_listed || headers.unreadable.contains(key) {
                continue;
            }
            let is_there = self.books.table.get_all::<Leg>(&[leg.key()], true).await?.items.len() == 1;
            let found = self.books.collection(leg.transaction()).await?;
            let is_known = found.knows(leg) || !found.is_sound();
            faults.extend((is_there && !is_known).then(|| Fault::orphan(leg)));
        }
        Ok(faults)
    }

    /// Checks that the newest leg in the window is not newer than the account's last leg.
    async fn check_newest(&self, walk: &AccountWalk, leg: &Leg) -> Result<Option<Fault>, Error> {
        let time = leg.place().created;
        if walk.reported || walk.last >= Some(time) || !self.is_sound(leg).await? {
            return Ok(None);
        }
        let account = self.books.table.get_all::<Account>(&[Account::key_of(&walk.account)], true).await?;
        let behind = account.items.into_values().find(|account| account.last_at() < Some(time));
        let fault =
            |account: Account| Fault::balance(&account.id, None, leg.shown_after(), Some(account.shown_balance()));
        Ok(behind.map(fault))
    }

    /// Checks that the balances and the hashes of two consecutive legs match. If not, reads the
    /// legs again with strong consistency. Does not report a discrepancy that another finding
    /// explains. Notes a broken hash in the walk.
    async fn check_pair(
        &self,
        of: &Reconciliation,
        walk: &mut AccountWalk,
        newer: &PendingLeg,
        older: Option<&Leg>,
    ) -> Result<Option<Fault>, Error> {
        if walk.reported || newer.follows(older) {
            return Ok(None);
        }
        let Some(found) = self.look_again(&walk.account, newer, older).await? else { return Ok(None) };
        let older_is_sound = match &found.older {
            Some(older) => self.is_sound(older).await?,
            None => true,
        };
        if !older_is_sound || !self.is_sound(&found.newer).await? || self.lacks_a_leg(of, &found).await? {
            return Ok(None);
        }
        let Break { newer, older } = found;
        if PendingLeg::of(&newer).continues(older.as_ref()) {
            walk.broken = Some(BrokenLeg::of(&newer));
            return Ok(None);
        }
        let before = older.as_ref().map_or_else(|| Some(Money::zero(newer.currency)), Leg::after);
        let change = newer.posting().map(|posting| posting.change());
        let expected = before.zip(change).and_then(|(before, change)| before.checked_add(change)).map(Money::amount);
        Ok(Some(Fault::balance(&walk.account, Some(newer.transaction().clone()), expected, newer.shown_after())))
    }

    /// Reads two legs and all legs between them again. Returns the first break. Reads from the
    /// table, because index entries may be delayed. Returns `None` if one of the legs is
    /// unreadable, because the unreadable leg has its own finding.
    async fn look_again(
        &self,
        account: &AccountId,
        newer: &PendingLeg,
        older: Option<&Leg>,
    ) -> Result<Option<Break>, Error> {
        let stretch = LegTimeSort::stretch(older.map(Leg::place).as_ref(), &newer.place).newest_first();
        let (entries, unreadable) = self.legs(account, &stretch, MAX_BETWEEN).await?;
        let keys: Vec<Key> = entries.items.iter().map(Leg::key).collect();
        let mut legs = self.books.table.get_all::<Leg>(&keys, true).await?;
        if !unreadable.is_empty() || !legs.unreadable.is_empty() {
            return Ok(None);
        }
        let legs: Vec<Leg> = keys.iter().filter_map(|key| legs.items.remove(key)).collect();
        Ok(first_break(&legs, older.is_none()))
    }

    /// Whether the leg's transaction lists the leg and has no discrepancies. A transaction with
    /// discrepancies has its own findings. A posting must also agree with its leg.
    async fn is_sound(&self, leg: &Leg) -> Result<bool, Error> {
        let found = self.books.collection(leg.transaction()).await?;
        Ok(found.has(leg) && found.is_sound() && (!leg.is_settled() || found.has_grouped(leg)))
    }

    /// Whether a finding reports a missing leg between the two legs. The time of a missing posting
    /// is not known, but it is not before the time of its transaction.
    async fn lacks_a_leg(&self, of: &Reconciliation, at: &Break) -> Result<bool, Error> {
        let findings = self.findings(&of.id, &FindingSort::of_legs()).await?;
        let (since, until) = (at.older.as_ref().map(|leg| leg.place().created), at.newer.place().created);
        let of_account = findings
            .items
            .iter()
            .map(|finding| &finding.what)
            .filter(|what| what.account.as_ref() == Some(&at.newer.account));
        let mut before = of_account.filter(|what| what.created_at <= Some(until));
        Ok(before.any(|what| match what.kind {
            Kind::MissingLeg => what.created_at >= since,
            Kind::MissingPosting => true,
            _ => false,
        }))
    }
}
