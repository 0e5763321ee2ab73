//! Helper for jobs that change many items page by page.
//!
//! One step reads a page of items and stores their ids. The next step changes these items and
//! counts them. If a run crashes while it changes the items, the stored page remains. The next run
//! changes the remaining items and counts the whole page, so each item is counted exactly once.

use function::Error;
use futures::{StreamExt, stream::FuturesUnordered};
use table::{Change, Dynamo, Error as Store, Item, Key, Table};

/// Maximum number of items in a page, and of index entries per query.
pub const PAGE: usize = 50;
/// Maximum number of concurrent changes.
const SIDE_BY_SIDE: usize = 16;
/// Maximum number of attempts to change an item in one run. Then the run ends, and another run
/// repeats the page.
const MAX_REFUSALS: usize = 20;

/// Items that a job changes page by page.
pub trait PagedItems: Sync {
    /// The type of the items.
    type Thing: Item + Send + Sync;

    /// Returns the id of an item, for the stored page.
    fn id(thing: &Self::Thing) -> String;

    /// Returns the key of the item with this id.
    ///
    /// # Errors
    /// The id is invalid.
    fn key(&self, id: &str) -> Result<Key, Error>;

    /// Returns the state of an item. `thing` is `None` if the item was deleted.
    fn state(&self, thing: Option<&Self::Thing>) -> ItemState;

    /// Returns the changes for an item. The first change must be conditional on the item being
    /// unchanged since it was read.
    ///
    /// # Errors
    /// The changes cannot be created.
    fn changes(&self, thing: &Self::Thing) -> Result<Vec<Change>, Error>;

    /// Checks whether the data that the job read earlier is still valid. The engine calls this
    /// method if another writer has changed an item of the page.
    ///
    /// # Errors
    /// The data may be outdated. Another run must read it again and repeat the page.
    fn may_repeat(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Reads the items of a stored page with strong consistency. Items that cannot be deserialized
    /// are passed over. The next pass counts them.
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
            let readable = keys.iter().filter(|key| !found.unreadable.contains(key));
            Ok(readable.map(|key| found.items.remove(key)).collect())
        }
    }

    /// Changes the items of a page concurrently. Returns the number of changed items, including
    /// items that an earlier run has changed.
    ///
    /// After an error, no further changes start, but changes in progress are completed.
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

/// The state of an item in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemState {
    /// The item must be changed.
    Due,
    /// The item has already been changed, for example by an earlier run.
    Done,
    /// The item no longer belongs to the job.
    Out,
}

/// Changes one item. On conflict, reads the current item and tries again. Returns whether the item
/// was changed, now or by an earlier run.
async fn change<P: PagedItems>(items: &P, dynamo: &Dynamo, mut thing: Option<P::Thing>) -> Result<bool, Error> {
    for _ in 0..MAX_REFUSALS {
        let due = match (items.state(thing.as_ref()), &thing) {
            (ItemState::Due, Some(due)) => due,
            (state, _) => return Ok(state == ItemState::Done),
        };
        match dynamo.apply(items.changes(due)?).await {
            Ok(()) => return Ok(true),
            Err(Store::Refused(refused)) => {
                thing = match refused.found(0) {
                    Err(Store::Unreadable(..)) => return Ok(false),
                    found => found?,
                };
                if items.state(thing.as_ref()) == ItemState::Due {
                    items.may_repeat()?;
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::stale())
}
