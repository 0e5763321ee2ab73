use crate::{
    Attribute, Condition, Error, Item, Key, Table,
    condition::Placeholders,
    error::call,
    item::{read_keyed, text},
    key::Attributes,
    usage,
};
use aws_sdk_dynamodb::{
    operation::query::builders::QueryFluentBuilder,
    types::{AttributeValue, ReturnConsumedCapacity, Select},
};
use keys::KeyRange;
use std::{fmt::Display, sync::Arc};

/// Maximum number of calls for a filtered page. After these calls, the page is returned even if it
/// is not full.
const MAX_CALLS: usize = 10;
/// Maximum number of calls of [`Table::query_all`]. Each call reads up to 1 MB. With a limit of
/// 5 MB, few JSON responses exceed Lambda's limit of 6 MB, which the crate `function` checks.
const MAX_WHOLE: usize = 5;
/// Maximum number of calls of [`Table::count`] and of a [large](Query::large) query. Each call
/// reads up to 1 MB of items.
const MAX_LARGE: usize = 100;

/// A global secondary index.
#[derive(Debug, Clone)]
pub struct Index {
    /// The index name in the template.
    pub name: Arc<str>,
    /// The partition key attribute.
    pub partition: Attribute,
    /// The sort key attribute.
    pub sort: Attribute,
}

/// A key condition on the base table or an index: a partition key and a range of sort keys.
#[derive(Debug)]
pub struct Query<'a> {
    pub(crate) index: Option<&'a Index>,
    pub(crate) partition: String,
    pub(crate) range: &'a KeyRange,
    pub(crate) filter: Option<Condition>,
    consistent: Option<bool>,
    /// Maximum number of calls of [`Table::query_all`].
    max_calls: usize,
}

impl<'a> Query<'a> {
    /// Selects the items with this partition key and a sort key in the range. The range also
    /// defines the order.
    pub fn new(partition: &impl Display, range: &'a KeyRange) -> Self {
        Self {
            index: None,
            partition: partition.to_string(),
            range,
            filter: None,
            consistent: None,
            max_calls: MAX_WHOLE,
        }
    }

    /// Queries the index instead of the base table. The index must project all attributes of the
    /// item type.
    pub fn on(mut self, index: &'a Index) -> Self {
        self.index = Some(index);
        self
    }

    /// Returns only items that satisfy the condition. Items that the filter removes also consume
    /// read request units (RRU).
    pub fn only_if(mut self, condition: Condition) -> Self {
        self.filter = Some(condition);
        self
    }

    /// Requests strongly consistent reads, which consume twice as many RRU. Indexes support only
    /// eventually consistent reads.
    pub fn consistent(mut self) -> Self {
        self.consistent = Some(true);
        self
    }

    /// Requests eventually consistent reads of the base table from [`Table::query_all`].
    pub fn eventually(mut self) -> Self {
        self.consistent = Some(false);
        self
    }

    /// Lets [`Table::query_all`] read up to 100 MB. Use this if the items do not become a response.
    pub fn large(mut self) -> Self {
        self.max_calls = MAX_LARGE;
        self
    }

    /// Returns the sort key attribute. Its value is the page position.
    fn sort(&self) -> Attribute {
        self.index.map_or(Key::SORT, |index| index.sort)
    }

    fn partition_key(&self) -> Attribute {
        self.index.map_or(Key::PARTITION, |index| index.partition)
    }

    /// Returns the key condition as text, for logs.
    fn condition(&self, range: &KeyRange) -> String {
        let (key, partition, sort) = (self.partition_key(), &self.partition, self.sort());
        let (from, to) = (range.from(), range.to());
        let backward = if range.is_backward() { ", newest first" } else { "" };
        format!("{key} = {partition:?} AND {sort} BETWEEN {from:?} AND {to:?}{backward}")
    }
}

/// A page of a list and the position of the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items, in the order of the range.
    pub items: Vec<T>,
    /// The sort key after which the next page starts. `None` at the end of the list.
    pub next: Option<String>,
    /// Number of items that could not be deserialized and were left out.
    pub skipped: usize,
}

impl<T> Page<T> {
    /// Converts the items of the page.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next, skipped: self.skipped }
    }

    /// Converts the items of the page. Items that cannot be converted are skipped and counted.
    pub fn try_map<U, E>(self, mut change: impl FnMut(T) -> Result<U, E>) -> Page<U>
    where
        T: Item,
    {
        let mut page = Page { items: Vec::with_capacity(self.items.len()), next: self.next, skipped: self.skipped };
        for item in self.items {
            if let Ok(item) = change(item) {
                page.items.push(item);
            } else {
                usage::unreadable(T::TYPE, None);
                page.skipped += 1;
            }
        }
        page
    }

    /// Returns the items. Use this method if the caller's decision needs every item.
    ///
    /// # Errors
    /// An item could not be deserialized.
    pub fn complete(self) -> Result<Vec<T>, Error>
    where
        T: Item,
    {
        complete::<T>(self.skipped).map(|()| self.items)
    }

    /// Adds the item. If it cannot be deserialized, counts it as skipped and returns its key.
    fn push(&mut self, item: Attributes) -> Option<Key>
    where
        T: Item,
    {
        match read_keyed(item) {
            Ok(item) => {
                self.items.push(item);
                None
            }
            Err((_, key)) => {
                self.skipped += 1;
                key
            }
        }
    }
}

impl<T> Page<T> {
    /// Number of read items, including skipped items.
    fn len(&self) -> usize {
        self.items.len() + self.skipped
    }
}

/// Returns an error if any item of this type was skipped.
pub(crate) fn complete<T: Item>(skipped: usize) -> Result<(), Error> {
    match skipped {
        0 => Ok(()),
        skipped => Err(Error::unreadable(T::TYPE, &format!("{skipped} of the items"))),
    }
}

/// The result of one `Query` call.
pub(crate) struct Slice {
    pub(crate) items: Vec<Attributes>,
    /// `LastEvaluatedKey`. `None` if the range has no more items.
    pub(crate) more: Option<Attributes>,
}

impl Table {
    /// Reads up to `limit` items of the query. The reads are eventually consistent, unless
    /// [`Query::consistent`] was called.
    ///
    /// Items that cannot be deserialized as `T` are skipped and counted. If the page would end at a
    /// sort key that no cursor accepts, further items are read
    /// (docs/decisions/lists.md).
    ///
    /// Consumes half an RRU per 4 KB.
    pub async fn page<T: Item>(&self, query: &Query<'_>, limit: usize) -> Result<Page<T>, Error> {
        Ok(self.page_with_unreadable(query, limit).await?.0)
    }

    /// Reads a page as [`Table::page`] does. Also returns the keys of the skipped items.
    pub async fn page_with_unreadable<T: Item>(
        &self,
        query: &Query<'_>,
        limit: usize,
    ) -> Result<(Page<T>, Vec<Key>), Error> {
        let mut unreadable = Vec::new();
        let position = |item: &Attributes| text(item, query.sort()).map(str::to_owned);
        let mut page = Page { items: Vec::new(), next: None, skipped: 0 };
        let mut rest = query.range.clone();
        for call in 1.. {
            // A page that ends at an unusable position gets one more item.
            let room = limit.saturating_sub(page.len()).max(1);
            let mut slice = self.query(query, &rest, if page.len() < limit { limit } else { room }).await?;
            page.next = slice.more.as_ref().map(position).transpose()?;
            if slice.items.len() > room {
                slice.items.truncate(room);
                page.next = slice.items.last().map(position).transpose()?;
            }
            unreadable.extend(slice.items.into_iter().filter_map(|item| page.push(item)));
            let Some(position) = &page.next else { break };
            let is_end = page.len() >= limit || call >= MAX_CALLS;
            if is_end && query.range.has_position(position) {
                break;
            }
            rest = query.range.after(position);
        }
        Ok((page, unreadable))
    }

    /// Reads all items of the query. Reads of the base table are strongly consistent, unless
    /// [`Query::eventually`] was called. Use this method only if the service limits the number of
    /// items in the range.
    ///
    /// Items that cannot be deserialized as `T` are skipped and counted.
    ///
    /// Consumes one RRU per 4 KB, or half an RRU on an index.
    ///
    /// # Errors
    /// A call failed, or the range exceeds 5 MB, or 100 MB if the query is [`Query::large`].
    pub async fn query_all<T: Item>(&self, query: &Query<'_>) -> Result<Page<T>, Error> {
        Ok(self.query_all_with_unreadable(query).await?.0)
    }

    /// Reads all items of the query that a response only shows, as [`Table::look_up`] reads one:
    /// with eventual consistency, and if there is no item, again with strong consistency.
    ///
    /// # Errors
    /// The errors of [`Table::query_all`].
    pub async fn look_up_all<T: Item>(&self, mut query: Query<'_>) -> Result<Page<T>, Error> {
        query = query.eventually();
        let found = self.query_all(&query).await?;
        if found.items.is_empty() && found.skipped == 0 { self.query_all(&query.consistent()).await } else { Ok(found) }
    }

    /// Reads all items as [`Table::query_all`] does. Also returns the keys of the skipped items.
    ///
    /// # Errors
    /// A call failed, or the range exceeds 5 MB.
    pub async fn query_all_with_unreadable<T: Item>(&self, query: &Query<'_>) -> Result<(Page<T>, Vec<Key>), Error> {
        let mut unreadable = Vec::new();
        let consistent = query.consistent.unwrap_or(query.index.is_none());
        let mut page = Page { items: Vec::new(), next: None, skipped: 0 };
        let mut from = None;
        for _ in 0..query.max_calls {
            let request = self.ask(query, query.range).consistent_read(consistent).set_exclusive_start_key(from);
            let slice = send(request, &|| query.condition(query.range)).await?;
            unreadable.extend(slice.items.into_iter().filter_map(|item| page.push(item)));
            from = slice.more;
            if from.is_none() {
                return Ok((page, unreadable));
            }
        }
        Err(Error::TooMuch)
    }

    /// Counts the items of the query. Counting consumes as many RRU as reading the items.
    ///
    /// # Errors
    /// A call failed, or the range exceeds 100 MB.
    pub async fn count(&self, query: &Query<'_>) -> Result<u64, Error> {
        let mut count = 0;
        let mut from = None;
        for _ in 0..MAX_LARGE {
            let request = self.ask(query, query.range).consistent_read(query.consistent == Some(true));
            let request = request.select(Select::Count).set_exclusive_start_key(from);
            let answer = call(request.send()).await?;
            usage::count("Query", Some(&|| query.condition(query.range)), &answer.consumed_capacity);
            count += u64::try_from(answer.count).unwrap_or_default();
            from = answer.last_evaluated_key;
            if from.is_none() {
                return Ok(count);
            }
        }
        Err(Error::TooMuch)
    }

    /// Looks up an item in an index by the partition key `value`, and returns its primary key. Use
    /// this method for indexes with unique partition keys and no sort key.
    pub async fn find_key_by_index(
        &self,
        index: &str,
        attribute: Attribute,
        value: &impl Display,
    ) -> Result<Option<Key>, Error> {
        let value = value.to_string();
        let condition = || format!("{attribute} = {value:?}");
        let request = self
            .request()
            .index_name(index)
            .key_condition_expression("#p = :p")
            .expression_attribute_names("#p", attribute.as_str())
            .expression_attribute_values(":p", AttributeValue::S(value.clone()))
            .limit(1);
        let slice = send(request, &condition).await?;
        slice.items.first().map(Key::of).transpose()
    }

    fn request(&self) -> QueryFluentBuilder {
        let request = self.dynamo.client.query().table_name(&*self.name);
        request.return_consumed_capacity(ReturnConsumedCapacity::Indexes)
    }

    /// Reads up to `limit` items in a part of the query's range, with one call.
    pub(crate) async fn query(&self, query: &Query<'_>, range: &KeyRange, limit: usize) -> Result<Slice, Error> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let request = self.ask(query, range).consistent_read(query.consistent == Some(true)).limit(limit);
        send(request, &|| query.condition(range)).await
    }

    /// Reads up to `limit` items after an `ExclusiveStartKey`, with one call.
    pub(crate) async fn slice(
        &self,
        query: &Query<'_>,
        start: Option<Attributes>,
        limit: usize,
    ) -> Result<Slice, Error> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let request = self.ask(query, query.range).set_exclusive_start_key(start).limit(limit);
        send(request, &|| query.condition(query.range)).await
    }

    fn ask(&self, query: &Query<'_>, range: &KeyRange) -> QueryFluentBuilder {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let request = self
            .request()
            .set_index_name(query.index.map(|index| index.name.to_string()))
            .key_condition_expression("#p = :p AND #s BETWEEN :from AND :to")
            .scan_index_forward(!range.is_backward());
        let mut placeholders = Placeholders::default();
        let filter = query.filter.as_ref().map(|filter| filter.expression(&mut placeholders));
        let Placeholders { mut names, mut values } = placeholders;
        names.extend([
            ("#p".to_owned(), query.partition_key().to_string()),
            ("#s".to_owned(), query.sort().to_string()),
        ]);
        for (placeholder, value) in [(":p", query.partition.as_str()), (":from", range.from()), (":to", range.to())] {
            values.insert(placeholder.to_owned(), text(value));
        }
        let request = request.set_filter_expression(filter).set_expression_attribute_names(Some(names));
        request.set_expression_attribute_values(Some(values))
    }
}

async fn send(request: QueryFluentBuilder, condition: &(dyn Fn() -> String + Sync)) -> Result<Slice, Error> {
    let answer = call(request.send()).await?;
    usage::count("Query", Some(condition), &answer.consumed_capacity);
    usage::note(|usage| usage.scanned += u64::try_from(answer.scanned_count).unwrap_or_default());
    Ok(Slice { items: answer.items.unwrap_or_default(), more: answer.last_evaluated_key })
}
