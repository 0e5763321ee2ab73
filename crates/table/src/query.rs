use crate::{
    Error, Item, Key, Table,
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

/// A key condition on the base table: the partition key, and the sort key between two ends.
#[derive(Debug)]
pub struct Query<'a> {
    partition: String,
    range: &'a KeyRange,
    filter: Option<(&'static str, String)>,
}

impl<'a> Query<'a> {
    /// The items of the partition key whose sort key lies in the range, in its order.
    #[must_use]
    pub fn new(partition: &impl Display, range: &'a KeyRange) -> Self {
        Self { partition: partition.to_string(), range, filter: None }
    }

    /// Only items whose attribute begins so. What it leaves out is read, and paid, all the same.
    #[must_use]
    pub fn beginning(mut self, attribute: &'static str, prefix: impl Into<String>) -> Self {
        self.filter = Some((attribute, prefix.into()));
        self
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
        let mut page = Page { items: Vec::new(), next: None };
        let mut rest = query.range.clone();
        for _ in 0..MOST_CALLS {
            let mut slice = self.query(None, &query.partition, &rest, query.filter.as_ref(), limit).await?;
            page.next = slice.more.map(|last| text(&last, "SK").map(str::to_owned)).transpose()?;
            let room = limit - page.items.len();
            if slice.items.len() > room {
                slice.items.truncate(room);
                page.next = slice.items.last().map(|last| text(last, "SK").map(str::to_owned)).transpose()?;
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

    pub(crate) async fn query(
        &self,
        index: Option<&Index>,
        partition: &str,
        range: &KeyRange,
        filter: Option<&(&'static str, String)>,
        limit: usize,
    ) -> Result<Slice, Error> {
        let (name, partition_key, sort_key) =
            index.map_or((None, "PK", "SK"), |index| (Some(index.name.to_string()), index.partition, index.sort));
        let condition = || {
            let (from, to) = (range.from(), range.to());
            format!("{partition_key} = {partition:?} AND {sort_key} BETWEEN {from:?} AND {to:?}")
        };
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let mut request = self
            .request()
            .set_index_name(name.clone())
            .key_condition_expression("#p = :p AND #s BETWEEN :from AND :to")
            .expression_attribute_names("#p", partition_key)
            .expression_attribute_names("#s", sort_key)
            .expression_attribute_values(":p", text(partition))
            .expression_attribute_values(":from", text(range.from()))
            .expression_attribute_values(":to", text(range.to()))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        if let Some((attribute, prefix)) = filter {
            request = request
                .filter_expression("begins_with(#f, :f)")
                .expression_attribute_names("#f", *attribute)
                .expression_attribute_values(":f", text(prefix));
        }
        send(request, &condition).await
    }
}

async fn send(request: QueryFluentBuilder, condition: &(dyn Fn() -> String + Sync)) -> Result<Slice, Error> {
    let answer = usage::call(request.send()).await?;
    usage::count("Query", Some(condition), &answer.consumed_capacity);
    usage::note(|usage| usage.scanned += u64::try_from(answer.scanned_count).unwrap_or_default());
    Ok(Slice { items: answer.items.unwrap_or_default(), more: answer.last_evaluated_key })
}
