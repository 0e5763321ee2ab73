use function::Error;
use keys::{
    AccountId, Milli, OrderId, Sku,
    cart::{ItemId, LineSort, Status},
};
use money::{Currency, Decimal, Money};
use serde::{Deserialize, Serialize};
use table::{Item, Key};

/// The largest line, in bytes, whatever moves add to it later: one write unit.
pub const MOST_BYTES: usize = 1_024;

/// What moves can add, with an order id of 128 bytes: attributes with their names.
const LATER_BYTES: usize = ("OrderId".len() + 128)
    + ("JoinedTo".len() + 32)
    + ("ExpiresAt".len() + 7)
    + ("Previous".len() + 3 + ("Status".len() + 9 + 1) + ("Since".len() + 24 + 1) + ("Quantity".len() + 3 + 1))
    // The longest status is PURCHASED, the first ACTIVE; in both sort keys. The version's digits.
    + (2 * 3 + 10);

/// A line of a cart: one item of `Cart`.
///
/// Account, status, its time and the item id stand in its keys and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Line {
    /// Whose cart it is.
    #[serde(rename = "PK")]
    pub account: AccountId,
    /// Where it stands, since when, and its id.
    #[serde(rename = "SK")]
    pub sort: LineSort,
    /// The product, under which operators find it; none for a line that nobody sees any more.
    #[serde(rename = "GSI1PK", skip_serializing_if = "Option::is_none")]
    pub index_partition: Option<Sku>,
    /// As the sort key, with `index_partition`.
    #[serde(rename = "GSI1SK", skip_serializing_if = "Option::is_none")]
    pub index_sort: Option<LineSort>,
    /// The product.
    pub sku: Sku,
    /// How many.
    pub quantity: Quantity,
    /// What one of it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Money>,
    /// When it was added.
    pub added_at: Milli,
    /// What it was purchased under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_id: Option<OrderId>,
    /// Counts the changes of the line, moves of its status included. The first is 1.
    pub version: i64,
    /// What it was before its status moved last; none where it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<Previous>,
    /// The line that it became a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined_to: Option<ItemId>,
    /// When it is gone for every reader, in seconds since 1970; TTL deletes it later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// What a move of the status leaves behind: the stream shows a move as a removal and an insertion, and the insertion alone
/// tells the whole of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Previous {
    /// Where it stood.
    pub status: Status,
    /// Since when.
    pub since: Milli,
    /// How many there were.
    pub quantity: Quantity,
}

impl Item for Line {
    const TYPE: &'static str = "CartLine";
}

/// How many of a product: 1 to 9,999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Quantity(u32);

impl Quantity {
    /// The most of one product in one line.
    pub const MOST: u32 = 9_999;

    /// Both together; none where that is more than a line takes.
    #[must_use]
    pub fn plus(self, more: Self) -> Option<Self> {
        Self::try_from(self.0 + more.0).ok()
    }
}

impl TryFrom<u32> for Quantity {
    type Error = &'static str;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        if (1..=Self::MOST).contains(&number) { Ok(Self(number)) } else { Err("must be a whole number from 1 to 9999") }
    }
}

impl From<Quantity> for u32 {
    fn from(quantity: Quantity) -> Self {
        quantity.0
    }
}

impl Line {
    /// Its primary key.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(&self.account, &self.sort)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> ItemId {
        self.sort.item
    }

    /// Whether it is there for readers, although TTL may not have deleted it yet.
    #[must_use]
    pub fn is_live(&self, now: Milli) -> bool {
        self.expires_at.is_none_or(|at| at > now.second().instant().as_second())
    }

    /// Refuses a line that could outgrow its 1 KB.
    pub(crate) fn must_fit(&self) -> Result<(), Error> {
        if table::size(self)? + LATER_BYTES <= MOST_BYTES {
            return Ok(());
        }
        let detail = "A line is at most 1 KB with its keys: account and SKU are too long together.";
        Err(Error::TooLarge(detail.to_owned()))
    }
}

/// A line as it is answered.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineBody {
    item_id: ItemId,
    account_id: AccountId,
    sku: Sku,
    quantity: Quantity,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<Decimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<Currency>,
    added_at: Milli,
    status_changed_at: Milli,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<OrderId>,
}

impl From<Line> for LineBody {
    fn from(line: Line) -> Self {
        Self {
            item_id: line.id(),
            account_id: line.account,
            sku: line.sku,
            quantity: line.quantity,
            status: line.sort.status,
            price: line.price.map(Money::amount),
            currency: line.price.map(Money::currency),
            added_at: line.added_at,
            status_changed_at: line.sort.since,
            order_id: line.order_id,
        }
    }
}
