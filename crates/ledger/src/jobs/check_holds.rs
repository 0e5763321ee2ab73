//! Checks that each account reserves what its open holds have not captured
//! ([decision](../../../../docs/decisions/ledger-transfers.md)).

use crate::{
    Account, Hold, Ledger,
    jobs::check_transactions::SIDE_BY_SIDE,
    model::{accounts_progress::HoldsWalk, hold::OpenHold, reconciliation::Fault},
};
use function::Error;
use futures::{StreamExt, TryStreamExt, stream};
use keys::{
    AccountId,
    ledger::{AccountPartition, HoldExpirySort},
};
use money::Money;
use std::time::Duration;
use table::{Key, Query};
use tokio::time::sleep;

/// Maximum number of holds that one call reads.
const PAGE: usize = 100;
/// Maximum number of calls that a step makes for an account. The next step continues.
const PAGES: usize = 20;
/// Pauses before an account that appears to be wrong is read again. The index of the open holds can
/// lag behind the table.
const PAUSES: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(400), Duration::from_millis(1_600)];

impl Ledger {
    /// Compares the reserved amount of each account with its next open holds. Returns the accounts
    /// with further holds.
    pub(crate) async fn check_holds(&self, walks: Vec<HoldsWalk>) -> Result<(Vec<HoldsWalk>, Vec<Fault>), Error> {
        let checks = stream::iter(walks).map(|walk| self.check_held(walk)).buffered(SIDE_BY_SIDE);
        let found: Vec<_> = checks.try_collect().await?;
        let (rest, faults): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        Ok((rest.into_iter().flatten().collect(), faults.concat()))
    }

    /// Reports an account only if nothing has changed it while its holds were read.
    async fn check_held(&self, mut walk: HoldsWalk) -> Result<(Option<HoldsWalk>, Vec<Fault>), Error> {
        let mut faults = Vec::new();
        for _ in 0..PAGES {
            self.add_holds(&mut walk, &mut faults).await?;
            if walk.after.is_some() {
                continue;
            }
            if walk.is_unreadable || walk.is_right() {
                return Ok((None, faults));
            }
            let pause = PAUSES.get(walk.looks);
            sleep(pause.copied().unwrap_or_default()).await;
            let Some(again) = self.again(&walk.account).await? else { return Ok((None, faults)) };
            if pause.is_none() {
                let wrong = || Fault::held(&again.id, walk.sum.map(Money::amount), again.shown_held());
                faults.extend((again.version == walk.version).then(wrong));
                return Ok((None, faults));
            }
            walk = HoldsWalk { looks: walk.looks + 1, ..HoldsWalk::new(&again) };
        }
        Ok((Some(walk), faults))
    }

    /// Reads the account again. An unreadable account has its own finding.
    async fn again(&self, account: &AccountId) -> Result<Option<Account>, Error> {
        let found = self.books.table.get_all::<Account>(&[Account::key_of(account)], true).await?;
        Ok(found.items.into_values().next())
    }

    /// Adds the next page of open holds to the sum, and reports the unreadable ones.
    async fn add_holds(&self, walk: &mut HoldsWalk, faults: &mut Vec<Fault>) -> Result<(), Error> {
        let (partition, all) = (AccountPartition(walk.account.clone()), HoldExpirySort::all());
        let rest = walk.after.as_ref().map_or_else(|| all.clone(), |after| all.after(after));
        let query = Query::new(&partition, &rest).on(&self.books.by_time);
        let (page, unreadable) = self.books.table.page_with_unreadable::<OpenHold>(&query, PAGE).await?;
        let keys: Vec<Key> = page.items.iter().map(|hold| Hold::key_of(&hold.partition.0)).collect();
        let holds = self.books.table.get_all::<Hold>(&keys, true).await?;
        let before = faults.len();
        faults.extend(unreadable.iter().chain(&holds.unreadable).map(Fault::unreadable));
        walk.is_unreadable |= faults.len() > before;
        for hold in holds.items.values().filter(|hold| hold.is_open() && hold.debit == walk.account) {
            walk.sum = walk.sum.zip(hold.uncaptured().ok()).and_then(|(sum, rest)| sum.checked_add(rest));
        }
        walk.after = page.next;
        Ok(())
    }
}
