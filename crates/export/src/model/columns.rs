use cart::{CartItem, Previous, Quantity};
use function::Record;
use jiff::Timestamp;
use keys::{
    OrderId, Sku, TimestampMillis,
    cart::{ItemId, Status},
};
use money::{Currency, Decimal, Money};
use serde::{Serialize, Serializer};

/// Columns of the table `cart_changes` in order, with their Glue (Hive) types.
pub const COLUMNS: [(&str, &str); 24] = [
    ("event_id", "string"),
    ("operation", "string"),
    ("sequence_number", "string"),
    ("changed_at", "timestamp"),
    ("account_id", "string"),
    ("item_id", "string"),
    ("sku", "string"),
    ("version", "bigint"),
    ("status", "string"),
    ("status_changed_at", "timestamp"),
    ("quantity", "int"),
    ("price", "decimal(20,4)"),
    ("currency", "string"),
    ("order_id", "string"),
    ("added_at", "timestamp"),
    ("expires_at", "timestamp"),
    ("joined_to", "string"),
    ("old_status", "string"),
    ("old_status_changed_at", "timestamp"),
    ("old_quantity", "int"),
    ("old_price", "decimal(20,4)"),
    ("old_currency", "string"),
    ("old_order_id", "string"),
    ("old_expires_at", "timestamp"),
];

/// Kind of change: the value of the column `operation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    Insert,
    Modify,
    Move,
    Remove,
    Expire,
}

/// One row. The fields are the columns in order. Fields without a value are omitted from the JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Columns<'a> {
    event_id: &'a str,
    operation: Operation,
    sequence_number: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_at: Option<Time>,
    account_id: String,
    item_id: ItemId,
    sku: &'a Sku,
    version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_changed_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantity: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<Decimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<Currency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<&'a OrderId>,
    added_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    joined_to: Option<ItemId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_status_changed_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_quantity: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_price: Option<Decimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_currency: Option<Currency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_order_id: Option<&'a OrderId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_expires_at: Option<Time>,
}

impl<'a> Columns<'a> {
    /// Creates a row with the columns that are present for every operation.
    pub(crate) fn of(operation: Operation, cart_item: &'a CartItem) -> Self {
        Self {
            event_id: "",
            operation,
            sequence_number: "",
            changed_at: None,
            account_id: cart_item.account.to_string(),
            item_id: cart_item.id(),
            sku: &cart_item.sku,
            version: cart_item.version,
            status: None,
            status_changed_at: None,
            quantity: None,
            price: None,
            currency: None,
            order_id: None,
            added_at: cart_item.added_at.into(),
            expires_at: None,
            joined_to: None,
            old_status: None,
            old_status_changed_at: None,
            old_quantity: None,
            old_price: None,
            old_currency: None,
            old_order_id: None,
            old_expires_at: None,
        }
    }

    /// Sets the event id, the sequence number and the time of the change.
    pub(crate) fn with_event(self, event_id: &'a str, record: &'a Record) -> Self {
        let changed_at = record.created_at().map(Into::into);
        Self { event_id, sequence_number: record.sequence_number(), changed_at, ..self }
    }

    /// Replaces the account id with the account's token.
    pub(crate) fn owned_by(self, account_id: String) -> Self {
        Self { account_id, ..self }
    }

    /// Sets the columns that contain the new values of the item.
    pub(crate) fn new_image(self, cart_item: &'a CartItem) -> Self {
        Self {
            status: Some(cart_item.sort.status),
            status_changed_at: Some(cart_item.sort.since.into()),
            quantity: Some(cart_item.quantity),
            price: Some(cart_item.price.amount()),
            currency: Some(cart_item.price.currency()),
            order_id: cart_item.order_id.as_ref(),
            expires_at: cart_item.expires_at.and_then(Time::of_seconds),
            joined_to: cart_item.joined_to,
            ..self
        }
    }

    /// Sets the `old_` columns from the item before the change.
    pub(crate) fn old_image(self, cart_item: &'a CartItem) -> Self {
        Self {
            old_order_id: cart_item.order_id.as_ref(),
            old_expires_at: cart_item.expires_at.and_then(Time::of_seconds),
            ..self.old(cart_item.sort.status, cart_item.sort.since, cart_item.quantity, cart_item.price)
        }
    }

    /// Sets the `old_` columns from the values before a status change. The price and the currency
    /// did not change. There is no old order id, because a purchased item never changes. The old
    /// expiry is unknown.
    pub(crate) fn previous(self, cart_item: &CartItem, previous: Previous) -> Self {
        self.old(previous.status, previous.since, previous.quantity, cart_item.price)
    }

    fn old(self, status: Status, since: TimestampMillis, quantity: Quantity, price: Money) -> Self {
        Self {
            old_status: Some(status),
            old_status_changed_at: Some(since.into()),
            old_quantity: Some(quantity),
            old_price: Some(price.amount()),
            old_currency: Some(price.currency()),
            ..self
        }
    }

    /// Increments the version. A deletion by TTL does not change the version of the item, but two
    /// rows of an item must not have the same version.
    pub(crate) fn with_next_version(self) -> Self {
        Self { version: self.version.saturating_add(1), ..self }
    }
}

/// Timestamp in the format of Hive, Athena and `DuckDB`: `2026-01-02 10:30:00.123`, in UTC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time(Timestamp);

impl Time {
    fn of_seconds(seconds: i64) -> Option<Self> {
        Timestamp::from_second(seconds).ok().map(Self)
    }
}

impl From<Timestamp> for Time {
    fn from(instant: Timestamp) -> Self {
        Self(instant)
    }
}

impl From<TimestampMillis> for Time {
    fn from(milli: TimestampMillis) -> Self {
        Self(milli.instant())
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&self.0.strftime("%Y-%m-%d %H:%M:%S%.3f"))
    }
}

/// Returns whether `decimal(20,4)` can store the amount. The type has 16 digits before the decimal
/// point and 4 after it. No currency has more than 4 digits after the decimal point.
pub(crate) fn fits(money: Money) -> bool {
    10_u128
        .checked_pow(16 + u32::from(money.currency().places()))
        .is_some_and(|limit| money.minor().unsigned_abs() < limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_always_have_milliseconds() {
        let text = |seconds: i64| serde_json::to_string(&Time::of_seconds(seconds)).expect("JSON");
        assert_eq!(text(1_767_349_800), r#""2026-01-02 10:30:00.000""#);
        let milli: TimestampMillis = "2026-01-02T10:30:00.120Z".parse().expect("a time");
        assert_eq!(serde_json::to_string(&Time::from(milli)).expect("JSON"), r#""2026-01-02 10:30:00.120""#);
        assert_eq!(text(i64::MAX), "null");
    }

    #[test]
    fn rejects_amounts_with_more_than_16_integer_digits() {
        let money = |amount: &str, currency: &str| {
            Money::new(amount.parse().expect("a number"), currency.parse().expect("a currency")).expect("money")
        };
        assert!(fits(money("9999999999999999.99", "USD")) && fits(money("-9999999999999999.9999", "CLF")));
        assert!(!fits(money("10000000000000000", "USD")) && !fits(money("10000000000000000", "JPY")));
    }
}
