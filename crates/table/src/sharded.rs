use crate::{
    Error, Index, Item, Key, Page, Query, Table,
    item::{Attributes, read, text},
};
use futures::future::try_join_all;
use keys::{KeyRange, Shard, Shards};
use std::collections::VecDeque;

/// What the entries of an index carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projection {
    /// The keys: a write costs the index one unit, and a reader fetches the items by key.
    KeysOnly,
    /// The whole item: a write costs the index as much as the table.
    All,
}

/// An index whose partition key is a shard: one list, in sort key order, over all shards.
#[derive(Debug, Clone)]
pub struct ShardedIndex {
    /// The index.
    pub index: Index,
    /// What its entries carry.
    pub projection: Projection,
    /// Its shards.
    pub shards: Shards,
}

impl Table {
    /// The first `limit` items of the range over all shards, merged in sort key order.
    ///
    /// It reads at most half as many entries again as it returns, and one a shard. An item that no
    /// longer stands where its entry says has moved on and is left out.
    ///
    /// # Errors
    /// A call failed, or an item is not a `T`.
    pub async fn sharded_page<T: Item>(
        &self,
        index: &ShardedIndex,
        range: &KeyRange,
        limit: usize,
    ) -> Result<Page<T>, Error> {
        let (entries, next) = Merge::new(self, index, range, limit).run().await?;
        let items = match index.projection {
            Projection::All => entries,
            Projection::KeysOnly => self.fetch(&entries, index.index.sort).await?,
        };
        Ok(Page { items: items.into_iter().map(read).collect::<Result<_, _>>()?, next })
    }

    /// The items of the entries, in their order, without those that have moved on.
    async fn fetch(&self, entries: &[Attributes], sort: &str) -> Result<Vec<Attributes>, Error> {
        let keys = entries.iter().map(Key::of).collect::<Result<Vec<_>, _>>()?;
        let mut items = self.batch_get(&keys, false).await?;
        let stands = |item: &Attributes, entry: &Attributes| item.get(sort) == entry.get(sort);
        // The replica that was asked may lag behind the index: what it lacks is asked for again, strongly.
        let missed = |key: &&Key, entry: &Attributes| !items.get(*key).is_some_and(|item| stands(item, entry));
        let again: Vec<Key> =
            keys.iter().zip(entries).filter(|(key, entry)| missed(key, entry)).map(|(key, _)| key.clone()).collect();
        if !again.is_empty() {
            items.extend(self.batch_get(&again, true).await?);
        }
        let current = |(key, entry): (&Key, &Attributes)| items.remove(key).filter(|item| stands(item, entry));
        Ok(keys.iter().zip(entries).filter_map(current).collect())
    }
}

/// One shard's part of the merge.
struct Lane {
    shard: Shard,
    /// Entries read and not yet merged.
    ahead: VecDeque<Attributes>,
    /// The last entry read.
    position: Option<String>,
    /// Nothing is left behind what was read.
    done: bool,
}

struct Merge<'a> {
    table: &'a Table,
    index: &'a Index,
    range: &'a KeyRange,
    limit: usize,
    lanes: Vec<Lane>,
}

impl<'a> Merge<'a> {
    fn new(table: &'a Table, index: &'a ShardedIndex, range: &'a KeyRange, limit: usize) -> Self {
        let lane = |shard| Lane { shard, ahead: VecDeque::new(), position: None, done: false };
        Self { table, index: &index.index, range, limit, lanes: index.shards.read().map(lane).collect() }
    }

    async fn run(mut self) -> Result<(Vec<Attributes>, Option<String>), Error> {
        let mut merged: Vec<Attributes> = Vec::with_capacity(self.limit);
        while merged.len() < self.limit {
            while self.lanes.iter().any(|lane| !lane.done && lane.ahead.is_empty()) {
                self.refill(self.limit - merged.len()).await?;
            }
            let Some(first) = self.first()? else { break };
            merged.extend(self.lanes[first].ahead.pop_front());
        }
        let more = self.lanes.iter().any(|lane| !lane.done || !lane.ahead.is_empty());
        let last = merged.last().filter(|_| more).map(|entry| text(entry, self.index.sort).map(str::to_owned));
        Ok((merged, last.transpose()?))
    }

    /// The lane whose next entry comes first.
    fn first(&self) -> Result<Option<usize>, Error> {
        let mut first: Option<(&str, usize)> = None;
        for (number, lane) in self.lanes.iter().enumerate() {
            if let Some(entry) = lane.ahead.front() {
                let sort = text(entry, self.index.sort)?;
                if first.is_none_or(|(least, _)| sort < least) {
                    first = Some((sort, number));
                }
            }
        }
        Ok(first.map(|(_, number)| number))
    }

    /// Reads on, side by side, in every shard that runs low.
    ///
    /// What is read and not merged never exceeds half a page and one entry a shard. That is the
    /// whole bound: what a page reads is what it returns and what is left over.
    async fn refill(&mut self, wanted: usize) -> Result<(), Error> {
        let live = self.lanes.iter().filter(|lane| !lane.done).count();
        let left_over: usize = self.lanes.iter().filter(|lane| lane.done).map(|lane| lane.ahead.len()).sum();
        let allowance = self.limit / 2 + self.lanes.len();
        let share = if live == 1 { wanted } else { wanted.min((allowance - left_over) / live).max(1) };
        let low = self.lanes.iter_mut().filter(|lane| !lane.done && lane.ahead.len() <= share / 2);
        let reads = low.map(|lane| lane.read(self.table, self.index, self.range, share));
        try_join_all(reads).await?;
        Ok(())
    }
}

impl Lane {
    async fn read(&mut self, table: &Table, index: &Index, range: &KeyRange, share: usize) -> Result<(), Error> {
        let rest = self.position.as_ref().map_or_else(|| range.clone(), |position| range.after(position));
        let room = share - self.ahead.len();
        let slice = table.query(&Query::new(&self.shard, range).on(index), &rest, room).await?;
        self.done = slice.more.is_none();
        // The last key that was read, which need not be an entry's: a page may be empty and yet not the last.
        if let Some(last) = slice.more.as_ref().or(slice.items.last()) {
            self.position = Some(text(last, index.sort)?.to_owned());
        }
        self.ahead.extend(slice.items);
        Ok(())
    }
}
