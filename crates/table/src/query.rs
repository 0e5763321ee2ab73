use crate::{
    Condition, Error, Item, Key, Table,
    condition::Placeholders,
    item::{Attributes, read, text},
    usage,
};
use aws_sdk_dynamodb::{
    operation::query::builders::QueryFluentBuilder,
    types::{AttributeValue, ReturnConsumedCapacity},
};
use keys::KeyRange;
use std::{fmt::Display, sync::Arc};

/// Calls that a filtered page may make before it comes back short, with a position to go on from.
const MOST_CALLS: usize = 10;

/// A global secondary index: its name in the template, and its key attributes.
#[derive(Debug, Clone)]
pub struct Index {
    /// The name.
    pub name: Arc<str>,
    /// The partition key attribute.
    pub partition: &'static str,
    /// The sort key attribute.
    pub sort: &'static str,
}

/// A key condition: the partition key, and the sort key between two ends, on the base table or an index.
#[derive(Debug)]
pub struct Query<'a> {
    pub(crate) index: Option<&'a Index>,
    pub(crate) partition: String,
    pub(crate) range: &'a KeyRange,
    pub(crate) filter: Option<Condition>,
}

impl<'a> Query<'a> {
    /// The items of the partition key whose sort key lies in the range, in its order.
    #[must_use]
    pub fn new(partition: &impl Display, range: &'a KeyRange) -> Self {
        Self { index: None, partition: partition.to_string(), range, filter: None }
    }

    /// Of the index in place of the base table. The index must carry the whole item.
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

    /// The attribute that its position is told by.
    fn sort(&self) -> &'static str {
        self.index.map_or("SK", |index| index.sort)
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
    /// Up to `limit` items of the query, eventually consistent.
    ///
    /// Half a read unit for every 4 KB of what is read.
    ///
    /// # Errors
    /// A call failed, or an item is not a `T`.
    pub async fn page<T: Item>(&self, query: &Query<'_>, limit: usize) -> Result<Page<T>, Error> {
        let position = |item: &Attributes| text(item, query.sort()).map(str::to_owned);
        let mut page = Page { items: Vec::new(), next: None };
        let mut rest = query.range.clone();
        for _ in 0..MOST_CALLS {
            let mut slice = self.query(query, &rest, Some(limit)).await?;
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

    /// Every item of the query, strongly consistent. For ranges of the base table that the rules keep short.
    ///
    /// A read unit for every 4 KB of what is read.
    ///
    /// # Errors
    /// A call failed, an item is not a `T`, or the range is not short at all.
    pub async fn whole<T: Item>(&self, query: &Query<'_>) -> Result<Vec<T>, Error> {
        let mut items = Vec::new();
        let mut rest = query.range.clone();
        for _ in 0..MOST_CALLS {
            let slice = self.query(query, &rest, None).await?;
            items.extend(slice.items.into_iter().map(read).collect::<Result<Vec<_>, _>>()?);
            match slice.more {
                Some(last) => rest = query.range.after(text(&last, query.sort())?),
                None => return Ok(items),
            }
        }
        Err(Error::Rejected(format!("a range of more than {MOST_CALLS} MB is not read whole")))
    }

    /// The key of the item that the index holds under the partition key value, if any. For an index
    /// without a sort key, whose values name one item each.
    ///
    /// # Errors
    /// The call failed.
    pub async fn find(&self, index: &str, attribute: &'static str, value: &impl Display) -> Result<Option<Key>, Error> {
        let value = value.to_string();
        let condition = || format!("{attribute} = {value:?}");
        let request = self
            .request()
            .index_name(index)
            .key_condition_expression("#p = :p")
            .expression_attribute_names("#p", attribute)
            .expression_attribute_values(":p", AttributeValue::S(value.clone()))
            .limit(1);
        let slice = send(request, &condition).await?;
        slice.items.first().map(Key::of).transpose()
    }

    fn request(&self) -> QueryFluentBuilder {
        let request = self.dynamo.client.query().table_name(&*self.name);
        request.return_consumed_capacity(ReturnConsumedCapacity::Indexes)
    }

    /// One call for a part of the query's range: a page of so many items, or strongly consistent without a limit.
    pub(crate) async fn query(
        &self,
        query: &Query<'_>,
        range: &KeyRange,
        limit: Option<usize>,
    ) -> Result<Slice, Error> {
        let (partition, partition_key) = (&query.partition, query.index.map_or("PK", |index| index.partition));
        let condition = || {
            let (from, to, sort) = (range.from(), range.to(), query.sort());
            let backward = if range.is_backward() { ", newest first" } else { "" };
            format!("{partition_key} = {partition:?} AND {sort} BETWEEN {from:?} AND {to:?}{backward}")
        };
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let mut request = self
            .request()
            .set_index_name(query.index.map(|index| index.name.to_string()))
            .key_condition_expression("#p = :p AND #s BETWEEN :from AND :to")
            .scan_index_forward(!range.is_backward())
            .consistent_read(limit.is_none())
            .set_limit(limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX)));
        let mut placeholders = Placeholders::default();
        let filter = query.filter.as_ref().map(|filter| filter.expression(&mut placeholders));
        let Placeholders { mut names, mut values } = placeholders;
        names.extend([("#p".to_owned(), partition_key.to_owned()), ("#s".to_owned(), query.sort().to_owned())]);
        for (placeholder, value) in [(":p", partition.as_str()), (":from", range.from()), (":to", range.to())] {
            values.insert(placeholder.to_owned(), text(value));
        }
        request = request.set_filter_expression(filter).set_expression_attribute_names(Some(names));
        send(request.set_expression_attribute_values(Some(values)), &condition).await
    }
}

async fn send(request: QueryFluentBuilder, condition: &(dyn Fn() -> String + Sync)) -> Result<Slice, Error> {
    let answer = usage::call(request.send()).await?;
    usage::count("Query", Some(condition), &answer.consumed_capacity);
    usage::note(|usage| usage.scanned += u64::try_from(answer.scanned_count).unwrap_or_default());
    Ok(Slice { items: answer.items.unwrap_or_default(), more: answer.last_evaluated_key })
}
