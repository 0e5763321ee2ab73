//! Checks that each account reserves what its open holds have not captured
//! ([decision](../../../../docs/decisions/ledger-holds.md)).

use crate::{
    Account, Hold, Ledger,
    jobs::check_transactions::SIDE_BY_SIDE,
    model::{hold::OpenHold, reconciliation::Fault},
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
/// Pauses before an account that appears to be wrong is read again. The index of the open holds can
/// lag behind the table.
const PAUSES: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(400), Duration::from_millis(1_600)];

/// The open holds of an account.
struct OpenHolds {
    /// What they reserve. `None` if an amount is invalid or the sum is too large.
    sum: Option<Money>,
    unreadable: Vec<Key>,
}

impl Ledger {
    /// Compares the reserved amount of each account with its open holds.
    pub(crate) async fn check_holds(&self, accounts: Vec<Account>) -> Result<Vec<Fault>, Error> {
        let checks = stream::iter(accounts).map(|account| self.check_held(account)).buffered(SIDE_BY_SIDE);
        let found: Vec<Vec<Fault>> = checks.try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Reports an account only if nothing has changed it while its holds were read.
    async fn check_held(&self, mut account: Account) -> Result<Vec<Fault>, Error> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let open = self.open_holds(&account).await?;
            if !open.unreadable.is_empty() {
                return Ok(open.unreadable.iter().map(Fault::unreadable).collect());
            }
            let held = account.readable_held().ok();
            if held.is_some() && held == open.sum {
                return Ok(Vec::new());
            }
            let pause = pauses.next();
            sleep(pause.unwrap_or_default()).await;
            let Some(again) = self.again(&account.id).await? else { return Ok(Vec::new()) };
            if pause.is_none() {
                let wrong = || Fault::held(&account.id, open.sum.map(Money::amount), account.shown_held());
                return Ok((again.version == account.version).then(wrong).into_iter().collect());
            }
            account = again;
        }
    }

    /// Reads the account again. An unreadable account has its own finding.
    async fn again(&self, account: &AccountId) -> Result<Option<Account>, Error> {
        let found = self.books.table.get_all::<Account>(&[Account::key_of(account)], true).await?;
        Ok(found.items.into_values().next())
    }

    async fn open_holds(&self, account: &Account) -> Result<OpenHolds, Error> {
        let (partition, mut rest) = (AccountPartition(account.id.clone()), HoldExpirySort::all());
        let mut open = OpenHolds { sum: Some(Money::zero(account.currency)), unreadable: Vec::new() };
        loop {
            let query = Query::new(&partition, &rest).on(&self.books.by_time);
            let (page, unreadable) = self.books.table.page_with_unreadable::<OpenHold>(&query, PAGE).await?;
            let keys: Vec<Key> = page.items.iter().map(|hold| Hold::key_of(&hold.partition.0)).collect();
            let holds = self.books.table.get_all::<Hold>(&keys, true).await?;
            open.unreadable.extend(unreadable.into_iter().chain(holds.unreadable));
            for hold in holds.items.values().filter(|hold| hold.is_open() && hold.debit == account.id) {
                open.sum = open.sum.zip(hold.uncaptured().ok()).and_then(|(sum, rest)| sum.checked_add(rest));
            }
            let Some(position) = page.next else { return Ok(open) };
            rest = rest.after(&position);
        }
    }
}
