use crate::{Attribute, Error, Table, usage};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use serde::{Serialize, de::DeserializeOwned};
use std::{collections::HashMap, fmt::Display};

pub(crate) type Attributes = HashMap<String, AttributeValue>;

/// A stored item. The fields of the struct are the item's attributes, including its keys.
pub trait Item: Serialize + DeserializeOwned {
    /// The value of [`Attribute::TYPE`].
    const TYPE: &'static str;

    /// Attributes of the DynamoDB type `N` that are decimal numbers. The fields of the struct
    /// contain text, because serde has no number type with 38 exact digits.
    const NUMBERS: &'static [Attribute] = &[];
}

/// The primary key of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    partition: String,
    sort: String,
}

impl Key {
    /// The partition key attribute of every table.
    pub const PARTITION: Attribute = Attribute("PK");

    /// The sort key attribute of every table.
    pub const SORT: Attribute = Attribute("SK");

    /// Creates a key from the key types of the crate `keys`.
    #[must_use]
    pub fn new(partition: &impl Display, sort: &impl Display) -> Self {
        Self { partition: partition.to_string(), sort: sort.to_string() }
    }

    /// A key that no item has, for calls that only open the connection. Both parts are `#`, which
    /// is neither a partition key nor a sort key of any item.
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

/// Returns a key attribute. All key attributes are strings.
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

/// Returns the size of an item in bytes, as DynamoDB calculates it: the sum of the sizes of all
/// attribute names and values.
///
/// # Errors
/// The item cannot be serialized.
pub fn size<T: Item>(item: &T) -> Result<usize, Error> {
    Ok(map_size(&written(item)?))
}

fn map_size(attributes: &Attributes) -> usize {
    attributes.iter().map(|(name, value)| name.len() + value_size(value)).sum()
}

/// Returns the size of a value in bytes (DynamoDB Developer Guide, "Item sizes and formats").
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

/// Returns the size of a number in bytes: one byte per two digits, rounded up, plus one byte, plus
/// one byte for a minus sign.
fn number_size(number: &str) -> usize {
    number.len().div_ceil(2) + 1 + usize::from(number.starts_with('-'))
}

impl Table {
    /// Reads one item, strongly consistent.
    ///
    /// Consumes one read unit per 4 KB, rounded up. Reading a missing item consumes one unit.
    ///
    /// # Errors
    /// The call failed, or the item cannot be deserialized as `T`.
    pub async fn get<T: Item>(&self, key: &Key) -> Result<Option<T>, Error> {
        self.get_with(key, true).await
    }

    /// Reads one item, eventually consistent. Consumes half the units of [`Table::get`].
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
