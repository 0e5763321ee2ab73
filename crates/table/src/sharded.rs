use crate::{
    Attribute, Error, Index, Item, Key, Page, Query, Table,
    item::{Attributes, read, text},
};
use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;
use keys::{KeyRange, Shards};
use std::{cmp::Ordering, collections::VecDeque};

/// Entries of nothing but keys that half a read unit pays for: 4 KB, where the partition key has the 36 bytes of a UUID.
const ENTRIES_IN_HALF_A_UNIT: usize = 20;

/// What the entries of an index carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projection {
    /// The keys: a write costs the index one unit, and a reader fetches the items by key.
    KeysOnly,
    /// All that the items read from it have: a write costs the index as much as the table.
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

/// One list over some partitions of an index. Several items may have the same sort key.
#[derive(Debug, Clone)]
pub struct MergedQuery<'a> {
    /// The index.
    pub index: &'a Index,
    /// What its entries carry.
    pub projection: Projection,
    /// The partition keys. Items of the same sort key come in their order.
    pub partitions: Vec<String>,
    /// The sort keys.
    pub range: &'a KeyRange,
    /// The last item that was returned before, if any.
    pub behind: Option<IndexPosition>,
}

/// Where an item stands in an index: what a list whose sort keys are not unique goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPosition {
    /// The index's partition key.
    pub partition: String,
    /// The index's sort key.
    pub sort: String,
    /// The item's own key.
    pub key: Key,
}

impl IndexPosition {
    fn of(entry: &Attributes, index: &Index) -> Result<Self, Error> {
        let key = |name| text(entry, name).map(str::to_owned);
        Ok(Self { partition: key(index.partition)?, sort: key(index.sort)?, key: Key::of(entry)? })
    }

    /// What DynamoDB goes on from.
    fn start(&self, index: &Index) -> Attributes {
        let mut start = self.key.attributes();
        start.insert(index.partition.to_string(), AttributeValue::S(self.partition.clone()));
        start.insert(index.sort.to_string(), AttributeValue::S(self.sort.clone()));
        start
    }
}

impl Table {
    /// The first `limit` items of the range over all shards, merged in sort key order. No two items have the same sort key.
    ///
    /// With [`Projection::All`] it reads at most half as many entries again as it returns, and one a shard. With
    /// [`Projection::KeysOnly`] it consumes at most half as many read units again as its items cost, and those of one item a shard,
    /// where an entry has at most 204 bytes: a partition key of 36. An item that no longer stands where its entry says has
    /// moved on and is left out.
    ///
    /// # Errors
    /// A call failed, or an item is not a `T`.
    pub async fn sharded_page<T: Item>(
        &self,
        index: &ShardedIndex,
        range: &KeyRange,
        limit: usize,
    ) -> Result<Page<T>, Error> {
        let partitions = index.shards.read().map(|shard| shard.to_string()).collect();
        let list = MergedQuery { index: &index.index, projection: index.projection, partitions, range, behind: None };
        let (items, next) = self.merged_page(&list, limit).await?;
        Ok(Page { items, next: next.map(|position| position.sort) })
    }

    /// The next `limit` items of the list, merged in sort key order, and where the last of them stands if there may be more.
    ///
    /// As [`Table::sharded_page`].
    ///
    /// # Errors
    /// A call failed, or an item is not a `T`.
    pub async fn merged_page<T: Item>(
        &self,
        list: &MergedQuery<'_>,
        limit: usize,
    ) -> Result<(Vec<T>, Option<IndexPosition>), Error> {
        let (entries, next) = Merge::new(self, list, limit).run().await?;
        let items = match list.projection {
            Projection::All => entries,
            Projection::KeysOnly => self.fetch(&entries, list.index.sort).await?,
        };
        Ok((items.into_iter().map(read).collect::<Result<_, _>>()?, next))
    }

    /// The items of the entries, in their order, without those that have moved on.
    async fn fetch(&self, entries: &[Attributes], sort: Attribute) -> Result<Vec<Attributes>, Error> {
        let keys = entries.iter().map(Key::of).collect::<Result<Vec<_>, _>>()?;
        let mut items = self.batch_get(&keys, false).await?;
        let stands = |item: &Attributes, entry: &Attributes| item.get(sort.as_str()) == entry.get(sort.as_str());
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

/// One partition's part of the merge.
struct ShardReader {
    partition: String,
    /// What is left of the range where nothing was read yet.
    range: KeyRange,
    /// Entries read and not yet merged.
    ahead: VecDeque<Attributes>,
    /// What the next call goes on from.
    start: Option<Attributes>,
    /// Nothing is left behind what was read.
    done: bool,
}

struct Merge<'a> {
    table: &'a Table,
    index: &'a Index,
    projection: Projection,
    limit: usize,
    readers: Vec<ShardReader>,
}

impl<'a> Merge<'a> {
    fn new(table: &'a Table, list: &MergedQuery<'a>, limit: usize) -> Self {
        let at = list.behind.as_ref();
        let own = at.and_then(|at| list.partitions.iter().position(|partition| *partition == at.partition));
        let reader = |(number, partition): (usize, &String)| {
            // Of the items with the same sort key, those of earlier partitions were returned and those of later ones not.
            let (range, start) = match (at, own.map(|own| number.cmp(&own))) {
                (Some(position), Some(Ordering::Less)) => (list.range.after(&position.sort), None),
                (Some(position), Some(Ordering::Equal)) => (list.range.clone(), Some(position.start(list.index))),
                (Some(position), _) => (list.range.starting_at(&position.sort), None),
                (None, _) => (list.range.clone(), None),
            };
            ShardReader { partition: partition.clone(), range, ahead: VecDeque::new(), start, done: false }
        };
        let readers = list.partitions.iter().enumerate().map(reader).collect();
        Self { table, index: list.index, projection: list.projection, limit, readers }
    }

    async fn run(mut self) -> Result<(Vec<Attributes>, Option<IndexPosition>), Error> {
        let mut merged: Vec<Attributes> = Vec::with_capacity(self.limit);
        while merged.len() < self.limit {
            while self.readers.iter().any(|reader| !reader.done && reader.ahead.is_empty()) {
                self.refill(self.limit - merged.len()).await?;
            }
            let Some(first) = self.first()? else { break };
            merged.extend(self.readers[first].ahead.pop_front());
        }
        let more = self.readers.iter().any(|reader| !reader.done || !reader.ahead.is_empty());
        let last = merged.last().filter(|_| more).map(|entry| IndexPosition::of(entry, self.index)).transpose()?;
        Ok((merged, last))
    }

    /// The reader whose next entry comes first.
    fn first(&self) -> Result<Option<usize>, Error> {
        let mut first: Option<(&str, usize)> = None;
        for (number, reader) in self.readers.iter().enumerate() {
            if let Some(entry) = reader.ahead.front() {
                let sort = text(entry, self.index.sort)?;
                if first.is_none_or(|(least, _)| sort < least) {
                    first = Some((sort, number));
                }
            }
        }
        Ok(first.map(|(_, number)| number))
    }

    /// Reads on, side by side, in every shard that runs low.
    async fn refill(&mut self, wanted: usize) -> Result<(), Error> {
        let live = self.readers.iter().filter(|reader| !reader.done).count();
        let fair = match self.projection {
            Projection::KeysOnly => wanted.div_ceil(live),
            Projection::All => self.within_half_a_page(wanted, live),
        };
        let low = self.readers.iter().filter(|reader| reader.is_low(fair)).count();
        let share = match self.projection {
            // Keys cost next to nothing beside the items, a call more a wait: half more than the fair share, in whole half units,
            // is enough for shards as uneven as chance makes them.
            Projection::KeysOnly => (wanted + wanted / 2).div_ceil(low).next_multiple_of(ENTRIES_IN_HALF_A_UNIT),
            Projection::All => fair,
        };
        let readers = self.readers.iter_mut().filter(|reader| reader.is_low(fair));
        try_join_all(readers.map(|reader| reader.read(self.table, self.index, share.min(wanted)))).await?;
        Ok(())
    }

    /// What is read and not merged never exceeds half a page and one entry a shard: where entries are whole items, what a page
    /// reads is what it returns and what is left over.
    fn within_half_a_page(&self, wanted: usize, live: usize) -> usize {
        let left_over: usize = self.readers.iter().filter(|reader| reader.done).map(|reader| reader.ahead.len()).sum();
        let allowance = self.limit / 2 + self.readers.len();
        if live == 1 { wanted } else { wanted.min((allowance - left_over) / live).max(1) }
    }
}

impl ShardReader {
    /// Whether it is soon read to its end, before all that is behind it is known.
    fn is_low(&self, fair: usize) -> bool {
        !self.done && self.ahead.len() <= fair / 2
    }

    async fn read(&mut self, table: &Table, index: &Index, share: usize) -> Result<(), Error> {
        let query = Query::new(&self.partition, &self.range).on(index);
        let slice = table.slice(&query, self.start.take(), share - self.ahead.len()).await?;
        self.done = slice.more.is_none();
        self.start = slice.more;
        self.ahead.extend(slice.items);
        Ok(())
    }
}
