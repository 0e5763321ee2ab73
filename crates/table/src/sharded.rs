use crate::{
    Attribute, Error, Index, Item, Key, Page, Query, Table,
    item::{read_keyed, text},
    key::Attributes,
};
use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;
use keys::{KeyRange, Shards};
use std::{cmp::Ordering, collections::VecDeque};

/// Number of keys-only or narrow index entries per half RRU. This many entries fit into 4 KB if the
/// partition key is a UUID of 36 bytes.
const ENTRIES_IN_HALF_A_UNIT: usize = 20;

/// The projection of an index (docs/decisions/indexes.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Projection {
    /// Only the keys. A write consumes one write request unit (WRU) on the index. Readers fetch the
    /// items by key.
    #[default]
    KeysOnly,
    /// The keys and a few small attributes, which are all that a list needs. A write consumes one
    /// WRU on the index.
    Narrow,
    /// All attributes. A write consumes as many WRU on the index as on the table.
    All,
}

/// An index whose partition key is a shard number. Readers merge the shards into one list in sort
/// key order (docs/decisions/lists.md).
#[derive(Debug, Clone)]
pub struct ShardedIndex {
    /// The index.
    pub index: Index,
    /// The attributes in the index entries.
    pub projection: Projection,
    /// The number of shards for writes and for reads.
    pub shards: Shards,
}

/// A query of several partitions of an index, merged into one list. Several items may have the same
/// sort key.
#[derive(Debug, Clone)]
pub struct MergedQuery<'a> {
    /// The index.
    pub index: &'a Index,
    /// The attributes in the index entries.
    pub projection: Projection,
    /// The partition keys. Items with equal sort keys are returned in the order of their
    /// partitions.
    pub partitions: Vec<String>,
    /// The range of sort keys.
    pub range: &'a KeyRange,
    /// The last item of the previous page, if any.
    pub behind: Option<IndexPosition>,
}

/// The position of an item in an index, for lists whose sort keys are not unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPosition {
    /// The partition key of the index.
    pub partition: String,
    /// The sort key of the index.
    pub sort: String,
    /// The primary key of the item.
    pub key: Key,
}

impl IndexPosition {
    fn of(entry: &Attributes, index: &Index) -> Result<Self, Error> {
        let key = |name| text(entry, name).map(str::to_owned);
        Ok(Self { partition: key(index.partition)?, sort: key(index.sort)?, key: Key::of(entry)? })
    }

    /// The position as `ExclusiveStartKey`.
    fn start(&self, index: &Index) -> Attributes {
        let mut start = self.key.attributes();
        start.insert(index.partition.to_string(), AttributeValue::S(self.partition.clone()));
        start.insert(index.sort.to_string(), AttributeValue::S(self.sort.clone()));
        start
    }
}

/// A page of a [`MergedQuery`].
#[derive(Debug)]
pub struct MergedPage<T> {
    /// The items, in sort key order.
    pub items: Vec<T>,
    /// The position of the last item, if there may be more items.
    pub next: Option<IndexPosition>,
    /// Number of items that could not be deserialized and were left out.
    pub skipped: usize,
}

impl Table {
    /// Reads the first `limit` items of the range from all shards, merged in sort key order. Sort
    /// keys must be unique.
    ///
    /// With [`Projection::All`], this method reads at most 1.5 × `limit` items, plus one per shard.
    /// With [`Projection::KeysOnly`], this method consumes at most as many RRU as reading 1.5 ×
    /// `limit` items, plus one item per shard. This requires index entries of at most 204 bytes,
    /// such as entries with a 36-byte partition key. With [`Projection::Narrow`], it consumes as
    /// many RRU as with `KeysOnly`, without those of the items.
    ///
    /// If an item's sort key changes after its index entry was read, the page omits the item.
    pub async fn sharded_page<T: Item>(
        &self,
        index: &ShardedIndex,
        range: &KeyRange,
        limit: usize,
    ) -> Result<Page<T>, Error> {
        let partitions = index.shards.read().map(|shard| shard.to_string()).collect();
        let list = MergedQuery { index: &index.index, projection: index.projection, partitions, range, behind: None };
        self.unique_page(list, limit).await
    }

    /// Reads the first `limit` items of the list, merged in sort key order. Sort keys must be
    /// unique, so the position of the page is a sort key.
    ///
    /// Consumes as many RRU as [`Table::sharded_page`].
    pub async fn unique_page<T: Item>(&self, list: MergedQuery<'_>, limit: usize) -> Result<Page<T>, Error> {
        let range = list.range;
        let is_usable = |position: &IndexPosition| range.has_position(&position.sort);
        let (MergedPage { items, next, skipped }, _) = self.merged_page(list, limit, is_usable).await?;
        Ok(Page { items, next: next.map(|position| position.sort), skipped })
    }

    /// Reads the next `limit` items of the list, merged in sort key order. Also returns the keys of
    /// the skipped items. If `is_usable` returns false for the position at which the page would
    /// end, further items are read (docs/decisions/lists.md).
    ///
    /// Consumes as many RRU as [`Table::sharded_page`].
    pub async fn merged_page<T: Item>(
        &self,
        mut list: MergedQuery<'_>,
        limit: usize,
        is_usable: impl Fn(&IndexPosition) -> bool,
    ) -> Result<(MergedPage<T>, Vec<Key>), Error> {
        let (mut page, mut unreadable) = self.merged_slice::<T>(&list, limit).await?;
        while let Some(position) = page.next.take_if(|position| !is_usable(position)) {
            list.behind = Some(position);
            let room = limit.saturating_sub(page.items.len()).max(1);
            let (further, keys) = self.merged_slice(&list, room).await?;
            page.items.extend(further.items);
            page.skipped += further.skipped;
            page.next = further.next;
            unreadable.extend(keys);
        }
        Ok((page, unreadable))
    }

    async fn merged_slice<T: Item>(
        &self,
        list: &MergedQuery<'_>,
        limit: usize,
    ) -> Result<(MergedPage<T>, Vec<Key>), Error> {
        let (entries, next) = Merge::new(self, list, limit).run().await?;
        let items = match list.projection {
            Projection::All | Projection::Narrow => entries,
            Projection::KeysOnly => self.fetch(&entries, list.index.sort).await?,
        };
        let mut page = MergedPage { items: Vec::with_capacity(items.len()), next, skipped: 0 };
        let mut unreadable = Vec::new();
        for item in items {
            match read_keyed(item) {
                Ok(item) => page.items.push(item),
                Err((_, key)) => {
                    page.skipped += 1;
                    unreadable.extend(key);
                }
            }
        }
        Ok((page, unreadable))
    }

    /// Fetches the items of the index entries, in the order of the entries. Omits items whose sort
    /// key has changed.
    async fn fetch(&self, entries: &[Attributes], sort: Attribute) -> Result<Vec<Attributes>, Error> {
        let keys = entries.iter().map(Key::of).collect::<Result<Vec<_>, _>>()?;
        let mut items = self.batch_get(&keys, false, &[]).await?;
        let stands = |item: &Attributes, entry: &Attributes| item.get(sort.as_str()) == entry.get(sort.as_str());
        // An eventually consistent read can return an older version than the index. Missing and
        // outdated items are therefore read again with strong consistency.
        let missed = |key: &&Key, entry: &Attributes| !items.get(*key).is_some_and(|item| stands(item, entry));
        let again: Vec<Key> =
            keys.iter().zip(entries).filter(|(key, entry)| missed(key, entry)).map(|(key, _)| key.clone()).collect();
        if !again.is_empty() {
            items.extend(self.batch_get(&again, true, &[]).await?);
        }
        let current = |(key, entry): (&Key, &Attributes)| items.remove(key).filter(|item| stands(item, entry));
        Ok(keys.iter().zip(entries).filter_map(current).collect())
    }
}

/// The read progress of one partition.
struct ShardReader {
    partition: String,
    /// The part of the range after the previous page.
    range: KeyRange,
    /// Entries that were read but are not yet in the merged list.
    ahead: VecDeque<Attributes>,
    /// The `ExclusiveStartKey` of the next call.
    start: Option<Attributes>,
    /// Whether the partition has no more entries to read.
    done: bool,
}

struct Merge<'a> {
    table: &'a Table,
    index: &'a Index,
    projection: Projection,
    is_backward: bool,
    limit: usize,
    readers: Vec<ShardReader>,
}

impl<'a> Merge<'a> {
    fn new(table: &'a Table, list: &MergedQuery<'a>, limit: usize) -> Self {
        let at = list.behind.as_ref();
        let own = at.and_then(|at| list.partitions.iter().position(|partition| *partition == at.partition));
        let reader = |(number, partition): (usize, &String)| {
            // The previous page has returned the position's sort key from the earlier partitions.
            // The later partitions may still have items with this sort key.
            let (range, start) = match (at, own.map(|own| number.cmp(&own))) {
                (Some(position), Some(Ordering::Less)) => (list.range.after(&position.sort), None),
                (Some(position), Some(Ordering::Equal)) => (list.range.clone(), Some(position.start(list.index))),
                (Some(position), _) => (list.range.starting_at(&position.sort), None),
                (None, _) => (list.range.clone(), None),
            };
            ShardReader { partition: partition.clone(), range, ahead: VecDeque::new(), start, done: false }
        };
        let readers = list.partitions.iter().enumerate().map(reader).collect();
        let is_backward = list.range.is_backward();
        Self { table, index: list.index, projection: list.projection, is_backward, limit, readers }
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

    /// Returns the index of the reader whose next entry is first in read order.
    fn first(&self) -> Result<Option<usize>, Error> {
        let mut first: Option<(&str, usize)> = None;
        for (number, reader) in self.readers.iter().enumerate() {
            if let Some(entry) = reader.ahead.front() {
                let sort = text(entry, self.index.sort)?;
                let is_before = |other| if self.is_backward { sort > other } else { sort < other };
                if first.is_none_or(|(other, _)| is_before(other)) {
                    first = Some((sort, number));
                }
            }
        }
        Ok(first.map(|(_, number)| number))
    }

    /// Reads more entries from every shard whose buffer is low. The reads run concurrently.
    async fn refill(&mut self, wanted: usize) -> Result<(), Error> {
        let live = self.readers.iter().filter(|reader| !reader.done).count();
        let fair = match self.projection {
            Projection::KeysOnly | Projection::Narrow => wanted.div_ceil(live),
            Projection::All => self.within_half_a_page(wanted, live),
        };
        let low = self.readers.iter().filter(|reader| reader.is_low(fair)).count();
        let share = match self.projection {
            // Small entries are much cheaper than items, and each further call adds latency.
            // Each shard therefore reads 1.5 times its even share, rounded up to a multiple of half
            // an RRU. If items are distributed randomly over the shards, this is usually enough for
            // the page.
            Projection::KeysOnly | Projection::Narrow => {
                (wanted + wanted / 2).div_ceil(low).next_multiple_of(ENTRIES_IN_HALF_A_UNIT)
            }
            Projection::All => fair,
        };
        let readers = self.readers.iter_mut().filter(|reader| reader.is_low(fair));
        try_join_all(readers.map(|reader| reader.read(self.table, self.index, share.min(wanted)))).await?;
        Ok(())
    }

    /// Returns the number of entries to read per shard. The number limits unreturned entries to
    /// half a page plus one entry per shard.
    fn within_half_a_page(&self, wanted: usize, live: usize) -> usize {
        let left_over: usize = self.readers.iter().filter(|reader| reader.done).map(|reader| reader.ahead.len()).sum();
        let allowance = self.limit / 2 + self.readers.len();
        if live == 1 { wanted } else { wanted.min((allowance - left_over) / live).max(1) }
    }
}

impl ShardReader {
    /// Returns whether the shard's buffered entries may run out before those of the other shards.
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
