//! A page is written before it is applied.
//!
//! One step lists the items that must change, and is written; the next changes them, and counts them. A run that died in between
//! left the list: the next run changes the rest of it, and counts all of it. Nothing is counted twice, and nothing is left out.

use function::Error;
use futures::{StreamExt, stream::FuturesUnordered};
use table::{Change, Dynamo, Error as Store, Item, Key, Table};

/// The number of items on a page, and of index entries that are looked at in one call.
pub const PAGE: usize = 50;
/// Changes that are under way at once.
const SIDE_BY_SIDE: usize = 16;
/// Refusals of one item's change in one run. One more, and the page is repeated by another run.
const MAX_REFUSALS: usize = 20;

/// Items that a job changes page by page.
pub trait PagedItems: Sync {
    /// The item.
    type Thing: Item + Send + Sync;

    /// Names an item in the stored page.
    fn id(thing: &Self::Thing) -> String;

    /// The key of the item of that name.
    ///
    /// # Errors
    /// It is not such a name.
    fn key(&self, id: &str) -> Result<Key, Error>;

    /// What to do with an item of a page as it is now; `None` if it is gone.
    fn state(&self, thing: Option<&Self::Thing>) -> ItemState;

    /// The changes of the item. The first is refused if the item is not as it was read.
    ///
    /// # Errors
    /// They cannot be written.
    fn changes(&self, thing: &Self::Thing) -> Result<Vec<Change>, Error>;

    /// Whether an item that another writer has changed meanwhile may be changed by what was read before.
    ///
    /// # Errors
    /// It may not: the page is repeated by another run.
    fn may_repeat(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Reads the items of a stored page, strongly consistent.
    ///
    /// # Errors
    /// A call failed, or an item cannot be read.
    fn read(
        &self,
        table: &Table,
        ids: &[String],
    ) -> impl Future<Output = Result<Vec<Option<Self::Thing>>, Error>> + Send
    where
        Self: Sized,
    {
        async {
            let keys = ids.iter().map(|id| self.key(id)).collect::<Result<Vec<_>, _>>()?;
            let mut found = table.get_all::<Self::Thing>(&keys, true).await?;
            Ok(keys.iter().map(|key| found.remove(key)).collect())
        }
    }

    /// Changes the items of a page, several at once; answers how many of them are as they must be.
    ///
    /// An error begins no new change, and waits for those under way.
    ///
    /// # Errors
    /// A change failed.
    fn apply(&self, dynamo: &Dynamo, page: Vec<Option<Self::Thing>>) -> impl Future<Output = Result<u64, Error>> + Send
    where
        Self: Sized,
    {
        async {
            let mut waiting = page.into_iter();
            let mut under_way: FuturesUnordered<_> =
                waiting.by_ref().take(SIDE_BY_SIDE).map(|thing| change(self, dynamo, thing)).collect();
            let mut changed = Ok(0);
            while let Some(done) = under_way.next().await {
                changed = changed.and_then(|sum| done.map(|done| sum + u64::from(done)));
                if changed.is_ok() {
                    under_way.extend(waiting.next().map(|thing| change(self, dynamo, thing)));
                }
            }
            changed
        }
    }
}

/// The state of an item of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemState {
    /// It must change.
    Due,
    /// It has changed, by an earlier run of the same page.
    Done,
    /// It is no longer the job's.
    Out,
}

/// Changes one item; whether it is as it must be. Retries on conflict with the current item.
async fn change<P: PagedItems>(items: &P, dynamo: &Dynamo, mut thing: Option<P::Thing>) -> Result<bool, Error> {
    for _ in 0..MAX_REFUSALS {
        let due = match (items.state(thing.as_ref()), &thing) {
            (ItemState::Due, Some(due)) => due,
            (state, _) => return Ok(state == ItemState::Done),
        };
        let mut changes = items.changes(due)?;
        let done = match (changes.pop(), changes.is_empty()) {
            (Some(only), true) => dynamo.write(only).await,
            (Some(last), false) => dynamo.transact(changes.into_iter().chain([last]).collect()).await,
            (None, _) => Ok(()),
        };
        match done {
            Ok(()) => return Ok(true),
            Err(Store::Refused(refused)) => {
                thing = refused.found(0)?;
                if items.state(thing.as_ref()) == ItemState::Due {
                    items.may_repeat()?;
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::stale())
}
