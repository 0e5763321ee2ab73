use crate::{Attribute, Error, Table, usage};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use serde::{Serialize, de::DeserializeOwned};
use std::{collections::HashMap, fmt::Display};

pub(crate) type Attributes = HashMap<String, AttributeValue>;

/// What a table stores: a struct whose fields are the item's attributes, the keys among them.
pub trait Item: Serialize + DeserializeOwned {
    /// The value of its [`Attribute::TYPE`].
    const TYPE: &'static str;

    /// Attributes that are decimal numbers, `N`. The struct has them as text: serde knows no number that is exact to the 38
    /// digits of DynamoDB's.
    const NUMBERS: &'static [Attribute] = &[];
}

/// The primary key of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    partition: String,
    sort: String,
}

impl Key {
    /// The attribute of the partition key, the same in every table.
    pub const PARTITION: Attribute = Attribute("PK");

    /// The attribute of the sort key, the same in every table.
    pub const SORT: Attribute = Attribute("SK");

    /// From the types of crate `keys`, which know the strings.
    #[must_use]
    pub fn new(partition: &impl Display, sort: &impl Display) -> Self {
        Self { partition: partition.to_string(), sort: sort.to_string() }
    }

    /// A key that no item has: no identifier and no key here is a lone `#`. For calls that only open
    /// the connection.
    #[must_use]
    pub fn placeholder() -> Self {
        Self { partition: "#".to_owned(), sort: "#".to_owned() }
    }

    /// The partition key.
    #[must_use]
    pub fn partition(&self) -> &str {
        &self.partition
    }

    /// The sort key.
    #[must_use]
    pub fn sort(&self) -> &str {
        &self.sort
    }

    pub(crate) fn attributes(&self) -> Attributes {
        let text = |text: &String| AttributeValue::S(text.clone());
        HashMap::from([
            (Self::PARTITION.to_string(), text(&self.partition)),
            (Self::SORT.to_string(), text(&self.sort)),
        ])
    }

    pub(crate) fn of(item: &Attributes) -> Result<Self, Error> {
        Ok(Self { partition: text(item, Self::PARTITION)?.to_owned(), sort: text(item, Self::SORT)?.to_owned() })
    }
}

/// A key attribute; every key here is a string.
pub(crate) fn text(item: &Attributes, attribute: Attribute) -> Result<&str, Error> {
    let value = item.get(attribute.as_str()).and_then(|value| value.as_s().ok());
    value.map(String::as_str).ok_or_else(|| Error::Rejected(format!("an item without {attribute}")))
}

pub(crate) fn read<T: Item>(mut item: Attributes) -> Result<T, Error> {
    for name in T::NUMBERS {
        if let Some(AttributeValue::N(number)) = item.get_mut(name.as_str()) {
            let text = std::mem::take(number);
            item.insert(name.to_string(), AttributeValue::S(text));
        }
    }
    serde_dynamo::from_item(item).map_err(|error| Error::Unreadable(T::TYPE, error))
}

pub(crate) fn written<T: Item>(item: &T) -> Result<Attributes, Error> {
    let mut attributes: Attributes = serde_dynamo::to_item(item).map_err(|error| Error::Unreadable(T::TYPE, error))?;
    attributes.insert(Attribute::TYPE.to_string(), AttributeValue::S(T::TYPE.to_owned()));
    for name in T::NUMBERS {
        if let Some(AttributeValue::S(text)) = attributes.get_mut(name.as_str()) {
            let number = std::mem::take(text);
            attributes.insert(name.to_string(), AttributeValue::N(number));
        }
    }
    Ok(attributes)
}

/// What the item weighs in bytes, as DynamoDB counts it: the names and the values of its attributes.
///
/// # Errors
/// The item can't be written at all.
pub fn size<T: Item>(item: &T) -> Result<usize, Error> {
    Ok(map_size(&written(item)?))
}

fn map_size(attributes: &Attributes) -> usize {
    attributes.iter().map(|(name, value)| name.len() + value_size(value)).sum()
}

/// Source: DynamoDB developer guide, "item sizes and formats".
fn value_size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number_size(number),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(numbers) => numbers.iter().map(|number| number_size(number)).sum(),
        AttributeValue::Bs(blobs) => blobs.iter().map(|blob| blob.as_ref().len()).sum(),
        AttributeValue::L(values) => 3 + values.iter().map(|value| 1 + value_size(value)).sum::<usize>(),
        AttributeValue::M(map) => 3 + map.len() + map_size(map),
        _ => 1,
    }
}

/// Two digits a byte, rounded up, and one more; another for the sign of a negative one.
fn number_size(number: &str) -> usize {
    number.len().div_ceil(2) + 1 + usize::from(number.starts_with('-'))
}

impl Table {
    /// Reads one item, strongly consistent: what was written is seen.
    ///
    /// One read unit for every 4 KB of the item, one where there is none.
    ///
    /// # Errors
    /// The call failed, or the item is not a `T`.
    pub async fn get<T: Item>(&self, key: &Key) -> Result<Option<T>, Error> {
        self.get_with(key, true).await
    }

    /// Reads one item, eventually consistent, for half of what [`Table::get`] costs.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub async fn get_eventually<T: Item>(&self, key: &Key) -> Result<Option<T>, Error> {
        self.get_with(key, false).await
    }

    async fn get_with<T: Item>(&self, key: &Key, consistent: bool) -> Result<Option<T>, Error> {
        let request = self
            .dynamo
            .client
            .get_item()
            .table_name(&*self.name)
            .set_key(Some(key.attributes()))
            .consistent_read(consistent)
            .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        let answer = usage::call(request.send()).await?;
        usage::count("GetItem", None, &answer.consumed_capacity);
        answer.item.map(read).transpose()
    }
}
