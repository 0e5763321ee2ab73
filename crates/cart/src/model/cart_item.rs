use function::{Error, Problem, Whole};
use keys::{
    AccountId, OrderId, Sku, TimestampMillis,
    cart::{CartItemSort, ItemId, Status},
};
use money::{Currency, Decimal, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::{borrow::Cow, str::FromStr};
use table::{Attributes, Item, Key};

use crate::{Product, ProductName, model::days::Days};

/// Maximum size of a cart item in bytes, including the attributes that status changes add later.
/// Writing an item of this size consumes one write request unit (WRU).
pub const MAX_BYTES: usize = 1_024;

/// Size of the attribute `Previous`, which every status change sets.
const PREVIOUS_BYTES: usize = CartItem::PREVIOUS.size()
    + 3
    + (Previous::STATUS.size() + 9 + 1)
    + (Previous::SINCE.size() + 24 + 1)
    + (Previous::QUANTITY.size() + 3 + 1);

/// Number of bytes reserved for all other data that a status change adds, including attribute
/// names.
const LATER_BYTES: usize = (CartItem::ORDER_ID.size() + 32)
    + (CartItem::JOINED_TO.size() + 32)
    + (CartItem::EXPIRES_AT.size() + 7)
    // The price before a checkout: a map with an amount and a currency.
    + (Previous::PRICE.size() + 3 + (6 + 21 + 1) + (8 + 3 + 1))
    // `PURCHASED` is three bytes longer than `ACTIVE` in each of the two sort keys. A version has
    // up to ten digits.
    + (2 * 3 + 10);

/// Product in a cart: an item of the table `Cart`.
///
/// The account, status, time of the last status change and item id are stored only in the keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct CartItem {
    /// Account that owns the cart.
    #[serde(rename = "PK")]
    pub account: AccountId,
    /// Status, time of the last status change, and item id.
    #[serde(rename = "SK")]
    pub sort: CartItemSort,
    /// Product: the partition key of GSI1 (docs/decisions/indexes.md). `None` for a `REMOVED` or
    /// `JOINED` item, which no list shows.
    #[serde(rename = "GSI1PK", skip_serializing_if = "Option::is_none")]
    pub index_partition: Option<Sku>,
    /// Copy of the sort key. `None` if `index_partition` is `None`.
    #[serde(rename = "GSI1SK", skip_serializing_if = "Option::is_none")]
    pub index_sort: Option<CartItemSort>,
    /// Product.
    pub sku: Sku,
    /// Quantity of the product.
    pub quantity: Quantity,
    /// Name of the product when it was added.
    pub name: ProductName,
    /// Price of one unit when the product was added.
    pub price: Money,
    /// Time at which the product was added.
    pub added_at: TimestampMillis,
    /// Order id of a purchased item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_id: Option<OrderId>,
    /// Version number of the item. It starts at 1 and increases by 1 with each change, including
    /// status changes.
    pub version: i64,
    /// Status, status time, quantity and price before the last status change. `None` if the status
    /// has never changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<Previous>,
    /// Id of the cart item into which this item was merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined_to: Option<ItemId>,
    /// Expiry in Unix seconds. Reads hide an expired item until TTL deletes it
    /// (docs/decisions/cart-contents.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// Values of a cart item before its last status change.
///
/// A status change produces two stream records: a removal under the old key and an insertion under
/// the new key. With these values, the insertion alone describes the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Previous {
    /// Previous status.
    pub status: Status,
    /// Time at which the previous status was set.
    pub since: TimestampMillis,
    /// Previous quantity.
    pub quantity: Quantity,
    /// Previous price, if it was another. Only a checkout changes the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Money>,
}

impl Item for CartItem {
    const TYPE: &'static str = "CartItem";
}

/// Quantity of a product: 1 to 9,999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Whole<1, 9_999>", into = "u32")]
pub struct Quantity(u32);

keys::schema!(Quantity as "Quantity": {"type": "integer", "minimum": 1, "maximum": Quantity::MAX});

impl Quantity {
    /// Maximum quantity of one cart item.
    pub const MAX: u32 = 9_999;

    /// One piece, the default of an addition.
    pub const ONE: Self = Self(1);

    /// Returns the sum of both quantities, or `None` if it exceeds the maximum.
    pub fn plus(self, more: Self) -> Option<Self> {
        Self::try_from(self.0 + more.0).ok()
    }
}

impl TryFrom<u32> for Quantity {
    type Error = &'static str;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        if (1..=Self::MAX).contains(&number) { Ok(Self(number)) } else { Err("must be a whole number from 1 to 9999") }
    }
}

impl From<Whole<1, 9_999>> for Quantity {
    fn from(number: Whole<1, 9_999>) -> Self {
        Self(number.into())
    }
}

impl From<Quantity> for u32 {
    fn from(quantity: Quantity) -> Self {
        quantity.0
    }
}

/// New status of a cart item, with the data that the status requires.
#[derive(Debug, Clone)]
pub(crate) enum Move {
    Active,
    Saved,
    /// Bought at the current price of the product.
    Purchased(OrderId, Money),
    Shipped,
    Cancelled,
    Removed,
    Joined(ItemId),
}

impl Move {
    fn status(&self) -> Status {
        match self {
            Self::Active => Status::Active,
            Self::Saved => Status::Saved,
            Self::Purchased(..) => Status::Purchased,
            Self::Shipped => Status::Shipped,
            Self::Cancelled => Status::Cancelled,
            Self::Removed => Status::Removed,
            Self::Joined(_) => Status::Joined,
        }
    }
}

/// Status that customers can list. The default is `ACTIVE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Listed(pub Status);

impl Default for Listed {
    fn default() -> Self {
        Self(Status::Active)
    }
}

impl FromStr for Listed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let status = text.parse().ok().filter(|status: &Status| status.is_listed());
        status.map(Self).ok_or("must be ACTIVE, SAVED, PURCHASED, SHIPPED or CANCELLED")
    }
}

/// The query parameter `prices`: whether a read compares cart items with their products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prices {
    /// Mark items whose product has another price, or cannot be bought.
    Current,
}

keys::schema!(Prices as "Prices": {
    "type": "string",
    "enum": ["current"],
    "description": "Mark items whose product has another price, or cannot be bought."
});

impl Prices {
    /// The text of the parameter, which is empty if it is absent.
    pub(crate) fn text(prices: Option<Self>) -> &'static str {
        prices.map_or("", |Self::Current| "current")
    }
}

impl FromStr for Prices {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "current" { Ok(Self::Current) } else { Err("must be current, or absent") }
    }
}

/// Status that a request sets. A cart item is purchased by a checkout only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewStatus {
    /// In the cart.
    Active,
    /// Saved for later.
    Saved,
}

keys::schema!(NewStatus as "NewCartItemStatus": {"type": "string", "enum": ["ACTIVE", "SAVED"]});

impl<'de> Deserialize<'de> for NewStatus {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match &*Cow::<str>::deserialize(input)? {
            "ACTIVE" => Ok(Self::Active),
            "SAVED" => Ok(Self::Saved),
            _ => Err(D::Error::custom("must be ACTIVE or SAVED")),
        }
    }
}

impl From<NewStatus> for Status {
    fn from(status: NewStatus) -> Self {
        match status {
            NewStatus::Active => Self::Active,
            NewStatus::Saved => Self::Saved,
        }
    }
}

impl CartItem {
    /// Creates a cart item for a product that is not in the cart.
    pub(crate) fn added(
        id: ItemId,
        account: AccountId,
        product: &Product,
        quantity: Quantity,
        now: TimestampMillis,
        days: Days,
    ) -> Self {
        let sort = CartItemSort { status: Status::Active, since: now, item: id };
        Self {
            account,
            sort,
            index_partition: Some(product.sku.clone()),
            index_sort: Some(sort),
            sku: product.sku.clone(),
            quantity,
            name: product.name.clone(),
            price: product.price,
            added_at: now,
            order_id: None,
            version: 1,
            previous: None,
            joined_to: None,
            expires_at: Some(days.and_one().after(now)),
        }
    }

    /// Returns a new item for the same product, quantity and price in the cart of another account.
    pub(crate) fn of_account(&self, id: ItemId, account: AccountId, now: TimestampMillis, days: Days) -> Self {
        let product = Product::new(self.sku.clone(), self.name.clone(), self.price, true);
        Self::added(id, account, &product, self.quantity, now, days)
    }

    /// Returns the item with a new quantity. Also renews the expiry if the last renewal is more
    /// than a day old.
    ///
    /// # Errors
    /// 409 for a purchased item.
    pub(crate) fn with_quantity(&self, quantity: Quantity, now: TimestampMillis, days: Days) -> Result<Self, Error> {
        self.must_be_open()?;
        let alive = self.expires_at.is_none_or(|at| at >= days.after(now));
        let expires_at = if alive { self.expires_at } else { Some(days.and_one().after(now)) };
        Ok(Self { quantity, version: self.version + 1, expires_at, ..self.clone() })
    }

    /// Returns the item with its quantity increased by `more`.
    ///
    /// # Errors
    /// 409 for a purchased item, or if the sum exceeds the maximum quantity.
    pub(crate) fn grown(&self, more: Quantity, now: TimestampMillis, days: Days) -> Result<Self, Error> {
        let quantity = self.quantity.plus(more).ok_or_else(|| {
            Error::Conflict(
                Problem::QuantityLimit,
                format!("The quantity of a cart item is at most {}.", Quantity::MAX),
            )
        })?;
        self.with_quantity(quantity, now, days)
    }

    /// Returns the item with a new status. Items have a reserve for it ([`Self::must_fit`]). Only
    /// an item whose product got a longer name since can exceed 1 KB.
    pub(crate) fn moved(&self, to: &Move, now: TimestampMillis, days: Days) -> Self {
        let status = to.status();
        // The clocks of two invocations may differ, but the status times of an item must never
        // decrease.
        let sort = CartItemSort { status, since: now.max(self.sort.since), item: self.id() };
        let expires_at = match status {
            Status::Active => Some(days.and_one().after(now)),
            Status::Saved | Status::Purchased | Status::Shipped | Status::Cancelled => None,
            Status::Removed | Status::Joined => Some(Days::WEEK.after(now)),
        };
        let (order_id, price) = match to {
            Move::Purchased(order, price) => (Some(order.clone()), *price),
            _ => (self.order_id.clone(), self.price),
        };
        Self {
            sort,
            index_partition: status.is_listed().then(|| self.sku.clone()),
            index_sort: status.is_listed().then_some(sort),
            version: self.version + 1,
            previous: Some(self.before_move(price)),
            order_id,
            price,
            joined_to: if let Move::Joined(item) = to { Some(*item) } else { None },
            expires_at,
            ..self.clone()
        }
    }

    fn before_move(&self, next: Money) -> Previous {
        let price = (self.price != next).then_some(self.price);
        Previous { status: self.sort.status, since: self.sort.since, quantity: self.quantity, price }
    }

    /// Returns the error 409 if the item is part of an order.
    pub(crate) fn must_be_open(&self) -> Result<(), Error> {
        if self.is_open() {
            return Ok(());
        }
        let detail = "The cart item was purchased and cannot change.".to_owned();
        Err(Error::Conflict(Problem::Purchased, detail))
    }

    /// Returns whether the item is in the cart or saved for later.
    pub fn is_open(&self) -> bool {
        matches!(self.sort.status, Status::Active | Status::Saved)
    }

    /// Primary key.
    pub fn key(&self) -> Key {
        Key::new(&self.account, &self.sort)
    }

    /// Item id.
    pub fn id(&self) -> ItemId {
        self.sort.item
    }

    /// Returns whether the item has not expired yet. An expired item stays in the table until TTL
    /// deletes it.
    pub fn is_live(&self, now: TimestampMillis) -> bool {
        self.expires_at.is_none_or(|at| at > now.second().instant().as_second())
    }

    /// Returns the error 413 if the item exceeds 1 KB or could exceed it after a status change.
    pub(crate) fn must_fit(&self) -> Result<(), Error> {
        let previous = if self.previous.is_none() { PREVIOUS_BYTES } else { 0 };
        if table::size(self)? + previous + LATER_BYTES <= MAX_BYTES {
            return Ok(());
        }
        let detail = "The cart item could exceed 1 KB: accountId, sku and the name of the product are too long.";
        Err(Error::TooLarge(detail.to_owned()))
    }
}

/// A cart item.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CartItemBody {
    /// The item. An update may merge it into another item of the same product. The response then
    /// has the id of that item.
    item_id: ItemId,
    account_id: AccountId,
    sku: Sku,
    name: ProductName,
    quantity: Quantity,
    status: Status,
    price: Decimal,
    currency: Currency,
    added_at: TimestampMillis,
    status_changed_at: TimestampMillis,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<OrderId>,
    /// Whether the price of the product differs from `price`. Only with `prices=current`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    price_changed: bool,
    /// Whether the product cannot be bought, because it is inactive or does not exist. Only with
    /// `prices=current`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unavailable: bool,
}

impl From<CartItem> for CartItemBody {
    fn from(cart_item: CartItem) -> Self {
        Self {
            item_id: cart_item.id(),
            account_id: cart_item.account,
            sku: cart_item.sku,
            name: cart_item.name,
            quantity: cart_item.quantity,
            status: cart_item.sort.status,
            price: cart_item.price.amount(),
            currency: cart_item.price.currency(),
            added_at: cart_item.added_at,
            status_changed_at: cart_item.sort.since,
            order_id: cart_item.order_id,
            price_changed: false,
            unavailable: false,
        }
    }
}

impl CartItemBody {
    /// Creates the body of an item whose product is known. `product` is `None` if the product does
    /// not exist.
    pub(crate) fn compared(cart_item: CartItem, product: Option<&Product>) -> Self {
        let product = product.filter(|product| product.active);
        let price_changed = product.is_some_and(|product| product.price != cart_item.price);
        Self { price_changed, unavailable: product.is_none(), ..cart_item.into() }
    }
}
