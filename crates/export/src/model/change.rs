use crate::model::{
    columns::{Columns, Operation, fits},
    token::TokenKey,
};
use cart::CartItem;
use function::{EventRecord, Record};
use keys::{
    IdempotencySort,
    cart::{CartItemSort, CartSort, ItemSort, LinesSort, OrderSort, Status},
};

/// Result of reading a stream record.
#[derive(Debug, PartialEq)]
pub(crate) enum Change {
    /// Row to send: one line of JSON, including the line break.
    Row(String),
    /// The record does not describe a change of a cart item.
    Dropped(Dropped),
    /// The record can never be sent. The reason may quote the record, so do not log the reason.
    Unsendable(String),
}

/// Reason for dropping a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// The changed item is not a cart item.
    NotACartItem,
    /// A status change deleted the item under its old key. The insertion under the new key is
    /// exported instead.
    MovedAway,
    /// A cart item with the status `REMOVED` or `JOINED` was changed or deleted.
    Ended,
    /// The old and the new cart item are equal.
    Unchanged,
}

enum Why {
    Dropped(Dropped),
    Unsendable(String),
}

impl From<Dropped> for Why {
    fn from(dropped: Dropped) -> Self {
        Self::Dropped(dropped)
    }
}

fn unsendable(reason: impl Into<String>) -> Why {
    Why::Unsendable(reason.into())
}

/// Converts a stream record to a row.
pub(crate) fn read(record: &Record, tokens: Option<&TokenKey>) -> Change {
    match row(record, tokens) {
        Ok(row) => Change::Row(row),
        Err(Why::Dropped(dropped)) => Change::Dropped(dropped),
        Err(Why::Unsendable(reason)) => Change::Unsendable(reason),
    }
}

fn row(record: &Record, tokens: Option<&TokenKey>) -> Result<String, Why> {
    let event = record.read().map_err(|error| unsendable(format!("not a stream record: {error}")))?;
    must_be_a_cart_item(record)?;
    let (cart_item, other) = cart_items(&event)?;
    let columns = columns(&event, &cart_item, other.as_ref())?;
    if !fits(cart_item.price) {
        return Err(unsendable("the price does not fit into decimal(20,4)"));
    }
    let columns = columns.with_event(&event.event_id, record);
    let columns = if let Some(key) = tokens { columns.owned_by(key.token(&cart_item.account)) } else { columns };
    serde_json::to_string(&columns).map(|json| json + "\n").map_err(|error| unsendable(error.to_string()))
}

/// Returns an error unless the record is about a cart item. The filter of the event source mapping
/// excludes most other items, but correctness does not depend on the filter.
fn must_be_a_cart_item(record: &Record) -> Result<(), Why> {
    let sort = record.sort_key();
    let sort = sort.ok_or_else(|| unsendable("not a cart key"))?;
    if sort.parse::<CartItemSort>().is_ok() {
        return Ok(());
    }
    let is_known = sort.parse::<ItemSort>().is_ok()
        || sort.parse::<CartSort>().is_ok()
        || sort.parse::<IdempotencySort>().is_ok()
        || sort.parse::<OrderSort>().is_ok()
        || sort.parse::<LinesSort>().is_ok();
    Err(if is_known { Dropped::NotACartItem.into() } else { unsendable("not a cart key") })
}

/// Returns the cart item of the row, and its old image if the item was modified. The change that
/// repairs an unreadable item is a row without old values.
fn cart_items(event: &EventRecord) -> Result<(CartItem, Option<CartItem>), Why> {
    let image = |item: &serde_dynamo::Item, name: &str| {
        if item.is_empty() {
            return Err(unsendable(format!("{name} is missing: the stream view type must be NEW_AND_OLD_IMAGES")));
        }
        serde_dynamo::from_item(item.clone()).map_err(|error| unsendable(format!("{name} is not a cart item: {error}")))
    };
    match event.event_name.as_str() {
        "INSERT" => Ok((image(&event.change.new_image, "NewImage")?, None)),
        "MODIFY" => {
            let new = image(&event.change.new_image, "NewImage")?;
            match image(&event.change.old_image, "OldImage") {
                Err(missing) if event.change.old_image.is_empty() => Err(missing),
                old => Ok((new, old.ok())),
            }
        }
        "REMOVE" if !is_by_ttl(event) => Err(Dropped::MovedAway.into()),
        "REMOVE" => Ok((image(&event.change.old_image, "OldImage")?, None)),
        _ => Err(unsendable("eventName is not INSERT, MODIFY or REMOVE")),
    }
}

/// Returns whether TTL deleted the item (DynamoDB Developer Guide, "DynamoDB Streams and Time to
/// Live").
fn is_by_ttl(event: &EventRecord) -> bool {
    event
        .user_identity
        .as_ref()
        .is_some_and(|user| user.type_ == "Service" && user.principal_id == "dynamodb.amazonaws.com")
}

fn columns<'a>(event: &EventRecord, cart_item: &'a CartItem, before: Option<&'a CartItem>) -> Result<Columns<'a>, Why> {
    let status = cart_item.sort.status;
    let operation = |operation| Columns::of(operation, cart_item);
    match (event.event_name.as_str(), cart_item.previous, before) {
        ("MODIFY", _, Some(before)) if before == cart_item => Err(Dropped::Unchanged.into()),
        ("MODIFY" | "REMOVE", ..) if !status.is_listed() => Err(Dropped::Ended.into()),
        ("MODIFY", _, None) => Ok(operation(Operation::Modify).new_image(cart_item)),
        ("MODIFY", _, Some(before)) => Ok(operation(Operation::Modify).new_image(cart_item).old_image(before)),
        ("REMOVE", ..) => Ok(operation(Operation::Expire).old_image(cart_item).with_next_version()),
        (_, Some(previous), _) if status == Status::Removed => {
            Ok(operation(Operation::Remove).previous(cart_item, previous))
        }
        (_, Some(previous), _) => Ok(operation(Operation::Move).new_image(cart_item).previous(cart_item, previous)),
        (_, None, _) if status.is_listed() => Ok(operation(Operation::Insert).new_image(cart_item)),
        (_, None, _) => Err(unsendable("a REMOVED or JOINED cart item without `Previous`")),
    }
}
