use function::{Error, Problem};
use keys::{
    AccountId, OrderId, Sku, TimestampMillis,
    cart::{ItemId, LineSort, Status},
};
use money::{Currency, Decimal, Money};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::{borrow::Cow, str::FromStr};
use table::{Attributes, Item, Key};

use crate::store::Days;

/// The largest line, in bytes, whatever moves add to it later: one write unit.
pub const MAX_BYTES: usize = 1_024;

/// What every move but the first leaves as it is.
const PREVIOUS_BYTES: usize = Line::PREVIOUS.size()
    + 3
    + (Previous::STATUS.size() + 9 + 1)
    + (Previous::SINCE.size() + 24 + 1)
    + (Previous::QUANTITY.size() + 3 + 1);

/// What moves can add beside that, with an order id of 128 bytes: attributes with their names.
const LATER_BYTES: usize = (Line::ORDER_ID.size() + 128)
    + (Line::JOINED_TO.size() + 32)
    + (Line::EXPIRES_AT.size() + 7)
    // The longest status is PURCHASED, the first ACTIVE; in both sort keys. The version's digits.
    + (2 * 3 + 10);

/// A line of a cart: one item of `Cart`.
///
/// Account, status, its time and the item id stand in its keys and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
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
    pub added_at: TimestampMillis,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Previous {
    /// Where it stood.
    pub status: Status,
    /// Since when.
    pub since: TimestampMillis,
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

/// Where a line may be moved.
#[derive(Debug, Clone)]
pub(crate) enum Move {
    Active,
    Saved,
    Purchased(OrderId),
    Removed,
    Joined(ItemId),
}

impl Move {
    fn status(&self) -> Status {
        match self {
            Self::Active => Status::Active,
            Self::Saved => Status::Saved,
            Self::Purchased(_) => Status::Purchased,
            Self::Removed => Status::Removed,
            Self::Joined(_) => Status::Joined,
        }
    }
}

/// A status that customers see; ACTIVE where nobody says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        status.map(Self).ok_or("must be ACTIVE, SAVED or PURCHASED")
    }
}

impl<'de> Deserialize<'de> for Listed {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(input)?.parse().map_err(D::Error::custom)
    }
}

impl Line {
    /// A line that is new in a cart.
    #[must_use]
    pub(crate) fn added(
        id: ItemId,
        account: AccountId,
        sku: Sku,
        quantity: Quantity,
        price: Option<Money>,
        now: TimestampMillis,
        days: Days,
    ) -> Self {
        let sort = LineSort { status: Status::Active, since: now, item: id };
        Self {
            account,
            sort,
            index_partition: Some(sku.clone()),
            index_sort: Some(sort),
            sku,
            quantity,
            price,
            added_at: now,
            order_id: None,
            version: 1,
            previous: None,
            joined_to: None,
            expires_at: Some(days.and_one().after(now)),
        }
    }

    /// The line with another quantity, alive for as long as a line that was just added.
    ///
    /// # Errors
    /// 409 for a line that was purchased.
    pub(crate) fn with_quantity(&self, quantity: Quantity, now: TimestampMillis, days: Days) -> Result<Self, Error> {
        self.must_be_open()?;
        let alive = self.expires_at.is_none_or(|at| at >= days.after(now));
        let expires_at = if alive { self.expires_at } else { Some(days.and_one().after(now)) };
        Ok(Self { quantity, version: self.version + 1, expires_at, ..self.clone() })
    }

    /// The line with more of the product.
    ///
    /// # Errors
    /// 409 where that is more than a line takes.
    pub(crate) fn grown(&self, more: Quantity, now: TimestampMillis, days: Days) -> Result<Self, Error> {
        let quantity = self.quantity.plus(more).ok_or_else(|| {
            Error::Conflict(Problem::QuantityLimit, format!("A line takes {} of a product at most.", Quantity::MOST))
        })?;
        self.with_quantity(quantity, now, days)
    }

    /// The line where it is moved.
    ///
    /// # Errors
    /// 409 for a line that was purchased; 413 for an order id with which it outgrows its 1 KB.
    pub(crate) fn moved(&self, to: &Move, now: TimestampMillis, days: Days) -> Result<Self, Error> {
        self.must_be_open()?;
        let status = to.status();
        // Clocks differ a little; a line's own times never go back.
        let sort = LineSort { status, since: now.max(self.sort.since), item: self.id() };
        let expires_at = match status {
            Status::Active => Some(days.and_one().after(now)),
            Status::Saved | Status::Purchased => None,
            Status::Removed | Status::Joined => Some(Days::WEEK.after(now)),
        };
        let moved = Self {
            sort,
            index_partition: status.is_listed().then(|| self.sku.clone()),
            index_sort: status.is_listed().then_some(sort),
            version: self.version + 1,
            previous: Some(Previous { status: self.sort.status, since: self.sort.since, quantity: self.quantity }),
            order_id: if let Move::Purchased(order) = to { Some(order.clone()) } else { None },
            joined_to: if let Move::Joined(item) = to { Some(*item) } else { None },
            expires_at,
            ..self.clone()
        };
        if table::size(&moved)? > MAX_BYTES {
            return Err(Error::TooLarge("A line is at most 1 KB: the order id is too long.".to_owned()));
        }
        Ok(moved)
    }

    /// Refuses to change a line that was purchased, which is final.
    pub(crate) fn must_be_open(&self) -> Result<(), Error> {
        if self.sort.status == Status::Purchased {
            let detail = "The line was purchased, which is final.".to_owned();
            return Err(Error::Conflict(Problem::Purchased, detail));
        }
        Ok(())
    }

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
    pub fn is_live(&self, now: TimestampMillis) -> bool {
        self.expires_at.is_none_or(|at| at > now.second().instant().as_second())
    }

    /// Refuses a line that could outgrow its 1 KB.
    pub(crate) fn must_fit(&self) -> Result<(), Error> {
        let previous = if self.previous.is_none() { PREVIOUS_BYTES } else { 0 };
        if table::size(self)? + previous + LATER_BYTES <= MAX_BYTES {
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
    added_at: TimestampMillis,
    status_changed_at: TimestampMillis,
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

#[cfg(test)]
mod tests {
    use super::*;
    use keys::Random;

    const DAYS: Days = Days::WEEK;

    fn now() -> TimestampMillis {
        "2026-12-01T09:30:00.123Z".parse().expect("a time")
    }

    fn quantity(number: u32) -> Quantity {
        number.try_into().expect("a quantity")
    }

    fn line(account_bytes: usize, sku_bytes: usize) -> Line {
        let (account, sku) = ("a".repeat(account_bytes), "s".repeat(sku_bytes));
        let price = Money::new("999999999999.99".parse().expect("a number"), "USD".parse().expect("a currency"));
        let (account, sku) = (account.parse().expect("an account"), sku.parse().expect("a SKU"));
        let id = ItemId::new(now().instant(), &Random::seeded(1));
        Line::added(id, account, sku, quantity(1), price.ok(), now(), DAYS)
    }

    #[test]
    fn no_move_makes_a_line_outgrow_its_limit() {
        // Up to two units for each byte of a SKU: it stands in the line twice.
        let fits = |account: usize| {
            (1..=128).rev().map(|sku| line(account, sku)).find(|line| line.must_fit().is_ok()).expect("one fits")
        };
        for account in [1, 100, 128] {
            let mut line = fits(account);
            line.version = 9_999_999_999;
            let line = line.with_quantity(quantity(Quantity::MOST), now(), DAYS).expect("open");
            let saved = line.moved(&Move::Saved, now(), DAYS).expect("open");
            let order = "o".repeat(128).parse().expect("an order id");
            for to in [Move::Active, Move::Purchased(order), Move::Removed, Move::Joined(line.id())] {
                assert!(saved.moved(&to, now(), DAYS).is_ok(), "{to:?} of {account}");
            }
        }
        assert!(line(128, 128).must_fit().is_ok(), "identifiers of 128 ASCII characters fit");
        let long = "\u{1F6D2}".repeat(128);
        let huge = Line { account: long.parse().expect("an account"), ..line(1, 128) };
        assert!(huge.must_fit().is_err());
    }

    #[test]
    fn a_move_keeps_what_the_line_is_and_says_what_it_was() {
        let later: TimestampMillis = "2026-12-02T00:00:00.000Z".parse().expect("a time");
        let active = line(3, 3);
        let saved = active.moved(&Move::Saved, later, DAYS).expect("open");
        assert_eq!((saved.id(), saved.added_at, saved.version), (active.id(), active.added_at, 2));
        assert_eq!((saved.sort.status, saved.sort.since, saved.expires_at), (Status::Saved, later, None));
        let previous = Previous { status: Status::Active, since: now(), quantity: quantity(1) };
        assert_eq!(saved.previous, Some(previous));
        let removed = saved.moved(&Move::Removed, now(), DAYS).expect("open");
        assert_eq!(removed.sort.since, later, "a line's own times never go back");
        assert_eq!((&removed.index_partition, removed.index_sort), (&None, None));
        let bought = saved.moved(&Move::Purchased("o".parse().expect("an order id")), later, DAYS).expect("open");
        for to in [Move::Active, Move::Saved, Move::Removed] {
            assert!(matches!(bought.moved(&to, later, DAYS), Err(Error::Conflict(Problem::Purchased, _))));
        }
    }

    #[test]
    fn a_change_renews_a_life_that_is_a_day_old() {
        let line = line(3, 3);
        let at = |text: &str| text.parse::<TimestampMillis>().expect("a time");
        let changed = |at: TimestampMillis| line.with_quantity(quantity(2), at, DAYS).expect("open").expires_at;
        assert_eq!(changed(at("2026-12-02T09:30:00.123Z")), line.expires_at);
        assert_eq!(changed(at("2026-12-02T09:30:01.123Z")), line.expires_at.map(|at| at + 24 * 60 * 60 + 1));
        assert!(line.is_live(at("2026-12-09T09:29:59.999Z")) && !line.is_live(at("2026-12-09T09:30:00.000Z")));
    }
}
