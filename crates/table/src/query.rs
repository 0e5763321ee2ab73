use crate::{
    Attribute, Condition, Error, Item, Key, Table,
    condition::Placeholders,
    item::{Attributes, read, text},
    usage,
};
use aws_sdk_dynamodb::{
    operation::query::builders::QueryFluentBuilder,
    types::{AttributeValue, ReturnConsumedCapacity, Select},
};
use keys::KeyRange;
use std::{fmt::Display, sync::Arc};

/// Calls that a filtered page may make before it comes back short, with a position to go on from.
const MAX_CALLS: usize = 10;
/// Calls that read a range whole, of 1 MB each: as JSON it stays below the 6 MB that a Lambda answers.
const MAX_WHOLE: usize = 5;
/// Calls that a count may make: 100 MB of entries.
const MAX_COUNTS: usize = 100;

/// A global secondary index: its name in the template, and its key attributes.
#[derive(Debug, Clone)]
pub struct Index {
    /// The name.
    pub name: Arc<str>,
    /// The partition key attribute.
    pub partition: Attribute,
    /// The sort key attribute.
    pub sort: Attribute,
}

/// A key condition: the partition key, and the sort key between two ends, on the base table or an index.
#[derive(Debug)]
pub struct Query<'a> {
    pub(crate) index: Option<&'a Index>,
    pub(crate) partition: String,
    pub(crate) range: &'a KeyRange,
    pub(crate) filter: Option<Condition>,
    consistent: bool,
}

impl<'a> Query<'a> {
    /// The items of the partition key whose sort key lies in the range, in its order.
    #[must_use]
    pub fn new(partition: &impl Display, range: &'a KeyRange) -> Self {
        Self { index: None, partition: partition.to_string(), range, filter: None, consistent: false }
    }

    /// Of the index in place of the base table. The index must carry all that the items read from it have.
    #[must_use]
    pub fn on(mut self, index: &'a Index) -> Self {
        self.index = Some(index);
        self
    }

    /// Only items of which the condition holds. What it leaves out is read, and paid, all the same.
    #[must_use]
    pub fn only_if(mut self, condition: Condition) -> Self {
        self.filter = Some(condition);
        self
    }

    /// What was written is seen, for twice the units. Not on an index, which DynamoDB reads eventually only.
    #[must_use]
    pub fn consistent(mut self) -> Self {
        self.consistent = true;
        self
    }

    /// The attribute that its position is told by.
    fn sort(&self) -> Attribute {
        self.index.map_or(Key::SORT, |index| index.sort)
    }

    fn partition_key(&self) -> Attribute {
        self.index.map_or(Key::PARTITION, |index| index.partition)
    }

    /// For people to read.
    fn condition(&self, range: &KeyRange) -> String {
        let (key, partition, sort) = (self.partition_key(), &self.partition, self.sort());
        let (from, to) = (range.from(), range.to());
        let backward = if range.is_backward() { ", newest first" } else { "" };
        format!("{key} = {partition:?} AND {sort} BETWEEN {from:?} AND {to:?}{backward}")
    }
}

/// A part of a list, and where the next one starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items, in key order.
    pub items: Vec<T>,
    /// The sort key after which the next page starts; none where the list ends.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// The same page of something else.
    #[must_use]
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next }
    }
}

/// What one `Query` call answers.
pub(crate) struct Slice {
    pub(crate) items: Vec<Attributes>,
    /// Whether there may be more behind the last.
    pub(crate) more: Option<Attributes>,
}

impl Table {
    /// Up to `limit` items of the query, eventually consistent where the query does not say otherwise.
    ///
    /// Half a read unit for every 4 KB of what is read.
    ///
    /// # Errors
    /// A call failed, or an item is not a `T`.
    pub async fn page<T: Item>(&self, query: &Query<'_>, limit: usize) -> Result<Page<T>, Error> {
        let position = |item: &Attributes| text(item, query.sort()).map(str::to_owned);
        let mut page = Page { items: Vec::new(), next: None };
        let mut rest = query.range.clone();
        for _ in 0..MAX_CALLS {
            let mut slice = self.query(query, &rest, limit).await?;
            page.next = slice.more.as_ref().map(position).transpose()?;
            let room = limit - page.items.len();
            if slice.items.len() > room {
                slice.items.truncate(room);
                page.next = slice.items.last().map(position).transpose()?;
            }
            for item in slice.items {
                page.items.push(read(item)?);
            }
            match &page.next {
                Some(position) if page.items.len() < limit => rest = query.range.after(position),
                _ => break,
            }
        }
        Ok(page)
    }

    /// Every item of the query, strongly consistent on the base table. For ranges that the rules keep short.
    ///
    /// A read unit for every 4 KB of what is read, half of one on an index.
    ///
    /// # Errors
    /// A call failed, an item is not a `T`, or the range is not short at all.
    pub async fn query_all<T: Item>(&self, query: &Query<'_>) -> Result<Vec<T>, Error> {
        let consistent = query.index.is_none();
        let mut items = Vec::new();
        let mut from = None;
        for _ in 0..MAX_WHOLE {
            let request = self.ask(query, query.range).consistent_read(consistent).set_exclusive_start_key(from);
            let slice = send(request, &|| query.condition(query.range)).await?;
            items.extend(slice.items.into_iter().map(read).collect::<Result<Vec<_>, _>>()?);
            from = slice.more;
            if from.is_none() {
                return Ok(items);
            }
        }
        Err(Error::TooMuch)
    }

    /// How many items the query has, without fetching them. It costs as much as to read them.
    ///
    /// # Errors
    /// A call failed, or there are more than can be counted in one go.
    pub async fn count(&self, query: &Query<'_>) -> Result<u64, Error> {
        let mut count = 0;
        let mut from = None;
        for _ in 0..MAX_COUNTS {
            let request = self.ask(query, query.range).consistent_read(query.consistent);
            let request = request.select(Select::Count).set_exclusive_start_key(from);
            let answer = usage::call(request.send()).await?;
            usage::count("Query", Some(&|| query.condition(query.range)), &answer.consumed_capacity);
            count += u64::try_from(answer.count).unwrap_or_default();
            from = answer.last_evaluated_key;
            if from.is_none() {
                return Ok(count);
            }
        }
        Err(Error::TooMuch)
    }

    /// The key of the item that the index holds under the partition key value, if any. For an index
    /// without a sort key, whose values name one item each.
    ///
    /// # Errors
    /// The call failed.
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

    /// One call for so many items of a part of the query's range.
    pub(crate) async fn query(&self, query: &Query<'_>, range: &KeyRange, limit: usize) -> Result<Slice, Error> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let request = self.ask(query, range).consistent_read(query.consistent).limit(limit);
        send(request, &|| query.condition(range)).await
    }

    /// One call for so many items of the query behind a position of DynamoDB's own.
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
    let answer = usage::call(request.send()).await?;
    usage::count("Query", Some(condition), &answer.consumed_capacity);
    usage::note(|usage| usage.scanned += u64::try_from(answer.scanned_count).unwrap_or_default());
    Ok(Slice { items: answer.items.unwrap_or_default(), more: answer.last_evaluated_key })
}
