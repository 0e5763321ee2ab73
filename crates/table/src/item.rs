use crate::{Attribute, Error, Key, Refused, Table, error::call, key::Attributes, usage};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A type that is stored as a DynamoDB item. The struct fields are the item's attributes, including
/// its keys.
pub trait Item: Serialize + DeserializeOwned {
    /// The value of the attribute [`Attribute::TYPE`] in items of this type.
    const TYPE: &'static str;

    /// Attributes that are numbers in DynamoDB and strings in the struct. DynamoDB numbers have 38
    /// exact digits, and serde has no such number type.
    const NUMBERS: &'static [Attribute] = &[];
}

/// Entry of an index, of which only the primary key is read.
impl Item for Key {
    const TYPE: &'static str = "Key";
}

impl Key {
    pub(crate) fn of(item: &Attributes) -> Result<Self, Error> {
        Ok(Self { partition: text(item, Self::PARTITION)?.to_owned(), sort: text(item, Self::SORT)?.to_owned() })
    }
}

/// Returns the value of a key attribute. Key attributes are always strings.
pub(crate) fn text(item: &Attributes, attribute: Attribute) -> Result<&str, Error> {
    let value = item.get(attribute.as_str()).and_then(|value| value.as_s().ok());
    value.map(String::as_str).ok_or_else(|| Error::Rejected(format!("an item has no {attribute}")))
}

/// Deserializes an item. An item that cannot be deserialized is counted in the usage of the
/// invocation, with its key.
pub(crate) fn read<T: Item>(item: Attributes) -> Result<T, Error> {
    read_keyed(item).map_err(|(error, _)| error)
}

impl Refused {
    /// Returns the stored item of a change whose condition failed. Returns `None` if no item was
    /// stored.
    ///
    /// # Errors
    /// The item cannot be deserialized as `T`.
    pub fn found<T: Item>(&self, change: usize) -> Result<Option<T>, Error> {
        let found = self.changes.get(change).cloned().flatten();
        found.filter(|item| !item.is_empty()).map(read).transpose()
    }
}

/// Deserializes an image in a stream record, given as DynamoDB JSON.
///
/// # Errors
/// The image cannot be deserialized as `T`. It is counted in the usage of the invocation.
pub fn read_image<T: Item>(image: &serde_json::Value) -> Result<T, Error> {
    // An invalid image becomes an empty item, which cannot be read either.
    read(serde_dynamo::Item::deserialize(image).map(Attributes::from).unwrap_or_default())
}

/// Deserializes an item as [`read`] does. An error comes with the key of the item.
pub(crate) fn read_keyed<T: Item>(mut item: Attributes) -> Result<T, (Error, Option<Key>)> {
    let key = Key::of(&item).ok();
    for name in T::NUMBERS {
        if let Some(AttributeValue::N(number)) = item.get_mut(name.as_str()) {
            let text = std::mem::take(number);
            item.insert(name.to_string(), AttributeValue::S(text));
        }
    }
    serde_dynamo::from_item(item).map_err(|error| {
        usage::unreadable(T::TYPE, key.clone());
        (Error::Unreadable(T::TYPE, error), key)
    })
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

/// Returns the item size in bytes by DynamoDB's rules, including attribute names.
pub fn size<T: Item>(item: &T) -> Result<usize, Error> {
    Ok(map_size(&written(item)?))
}

fn map_size(attributes: &Attributes) -> usize {
    attributes.iter().map(|(name, value)| name.len() + value_size(value)).sum()
}

/// Returns the size of an attribute value in bytes (DynamoDB Developer Guide, "Item sizes and
/// formats").
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

/// Returns the size of a number in bytes: one byte per two digits (rounded up), one more byte, and
/// one byte for a minus sign.
fn number_size(number: &str) -> usize {
    number.len().div_ceil(2) + 1 + usize::from(number.starts_with('-'))
}

impl Table {
    /// Reads one item with strong consistency.
    ///
    /// Consumes one read request unit (RRU) per 4 KB, rounded up. Reading a missing item consumes
    /// one RRU.
    ///
    /// # Errors
    /// The call failed, or the item cannot be deserialized as `T`.
    pub async fn get<T: Item>(&self, key: &Key) -> Result<Option<T>, Error> {
        self.get_with(key, true).await
    }

    /// Reads one item with eventual consistency. Consumes half the RRU of [`Table::get`].
    ///
    /// # Errors
    /// The errors of [`Table::get`].
    pub async fn get_eventually<T: Item>(&self, key: &Key) -> Result<Option<T>, Error> {
        self.get_with(key, false).await
    }

    /// Reads one item that a response only shows. An item that the eventually consistent read
    /// misses is read again with strong consistency, so a GET after a POST finds it
    /// (docs/decisions/consistency.md). Consumes half the RRU of [`Table::get`], or one and a half
    /// RRU for a missing item.
    ///
    /// # Errors
    /// The errors of [`Table::get`].
    pub async fn look_up<T: Item>(&self, key: &Key) -> Result<Option<T>, Error> {
        match self.get_eventually(key).await? {
            Some(item) => Ok(Some(item)),
            None => self.get(key).await,
        }
    }

    async fn get_with<T: Item>(&self, key: &Key, consistent: bool) -> Result<Option<T>, Error> {
        self.get_attributes(key, consistent).await?.map(read).transpose()
    }

    pub(crate) async fn get_attributes(&self, key: &Key, consistent: bool) -> Result<Option<Attributes>, Error> {
        let request = self
            .dynamo
            .client
            .get_item()
            .table_name(&*self.name)
            .set_key(Some(key.attributes()))
            .consistent_read(consistent)
            .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        let answer = call(request.send()).await?;
        usage::count("GetItem", None, &answer.consumed_capacity);
        Ok(answer.item)
    }
}
