use crate::{Cart, CartItem, Order, OrderStatus};
use function::{Error, Problem};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::SignedDuration;
use keys::{
    AccountId, OrderId, Sku, TimestampMillis,
    cart::{CartItemSort, CartSort, ItemId, OrderSort, Status},
};
use money::Currency;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap, fmt, str::FromStr};
use table::{Attributes, Change, Condition, Item, Key, Query};

/// Maximum number of ACTIVE items in a cart (docs/requirements/cart.md#large-carts).
pub const MAX_ITEMS: usize = 200;

/// Item `CART`: the contents of a cart (docs/decisions/cart-contents.md).
///
/// A cart item is in the cart only if `items` has it. Every change of an `ACTIVE` item therefore
/// also changes this item, and a checkout takes all items out of the cart with one write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Contents {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: CartSort,
    /// Number of changes.
    version: i64,
    /// Currency of all items. `None` if a checkout has emptied the cart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) currency: Option<Currency>,
    /// `ACTIVE` item of each product. An expired item stays here until an addition replaces it.
    pub(crate) items: BTreeMap<Sku, Entry>,
    /// Orders with the time of their checkout whose items are still stored as `ACTIVE`. A job moves
    /// them.
    pub(crate) moving: BTreeMap<OrderId, TimestampMillis>,
    /// Time of the last checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ordered_at: Option<TimestampMillis>,
    expires_at: i64,
}

impl Item for Contents {
    const TYPE: &'static str = "Cart";
}

/// Item of a cart and its version, stored as `<item id>#<version>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) item: ItemId,
    version: i64,
}

impl fmt::Display for Entry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}", self.item, self.version)
    }
}

impl FromStr for Entry {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('#');
        let entry =
            parts.and_then(|(item, version)| Some(Self { item: item.parse().ok()?, version: version.parse().ok()? }));
        entry.ok_or("is not an entry of a cart")
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(input)?.parse().map_err(D::Error::custom)
    }
}

/// Number of items that are read at the same time.
const AT_ONCE: usize = 20;

/// Maximum time between the addition of an item and its visibility to reads.
const SETTLING: SignedDuration = SignedDuration::from_mins(1);

impl Entry {
    fn of(cart_item: &CartItem) -> Self {
        Self { item: cart_item.id(), version: cart_item.version }
    }

    /// Returns whether the item may have been added so recently that a read misses it.
    fn is_settling(self, now: TimestampMillis) -> bool {
        self.item.time().is_some_and(|added| now.instant().duration_since(added.instant()) < SETTLING)
    }
}

/// The `ACTIVE` items of a cart.
#[derive(Debug, Clone, Default)]
pub(crate) struct InCart {
    /// The items, newest first.
    pub(crate) cart_items: Vec<CartItem>,
    /// Entries whose items cannot be read (docs/decisions/unreadable-items.md).
    pub(crate) unreadable: BTreeMap<Sku, Entry>,
}

impl InCart {
    /// Returns the items except those in `some`.
    pub(crate) fn without(mut self, some: &[CartItem]) -> Self {
        self.cart_items.retain(|cart_item| some.iter().all(|other| other.id() != cart_item.id()));
        self
    }

    /// Adds the items in `new`. An item replaces an earlier version with the same id.
    pub(crate) fn with(self, new: Vec<CartItem>) -> Self {
        let mut all = self.without(&new);
        all.cart_items.extend(new);
        all
    }
}

impl Contents {
    /// Returns whether the item is in the cart, in this version.
    ///
    /// # Errors
    /// [`Error::stale`] if the cart has another version of the item.
    pub(crate) fn has(&self, cart_item: &CartItem) -> Result<bool, Error> {
        match self.items.get(&cart_item.sku).filter(|entry| entry.item == cart_item.id()) {
            Some(entry) if entry.version == cart_item.version => Ok(true),
            Some(_) => Err(Error::stale()),
            None => Ok(false),
        }
    }

    /// Returns whether the cart has the item in this version.
    pub(crate) fn lists_version(&self, cart_item: &CartItem) -> bool {
        self.items.get(&cart_item.sku) == Some(&Entry::of(cart_item))
    }

    /// Returns whether the cart has the item, in any version. A read with eventual consistency may
    /// return an older version.
    pub(crate) fn lists(&self, cart_item: &CartItem) -> bool {
        self.items.get(&cart_item.sku).is_some_and(|entry| entry.item == cart_item.id())
    }

    /// Returns the contents after a checkout of all readable items. `moving` is the order whose
    /// items a job has to move.
    pub(crate) fn after_checkout(
        &self,
        in_cart: &InCart,
        at: TimestampMillis,
        moving: Option<&OrderId>,
        expires_at: i64,
    ) -> Self {
        let mut all = self.moving.clone();
        all.extend(moving.map(|order| (order.clone(), at)));
        let items = in_cart.unreadable.clone();
        let currency = self.currency.filter(|_| !items.is_empty());
        Self {
            version: self.version + 1,
            currency,
            items,
            moving: all,
            ordered_at: Some(at),
            expires_at,
            ..self.clone()
        }
    }
}

impl Cart {
    fn contents_key(account: &AccountId) -> Key {
        Key::new(account, &CartSort)
    }

    /// Expiry of the contents of a cart that was changed at this time. It is after the expiry of
    /// all its items.
    pub(crate) fn contents_expiry(&self, now: TimestampMillis) -> i64 {
        self.days.and_one().and_one().after(now)
    }

    /// Reads the contents of a cart with strong consistency.
    pub(crate) async fn contents(&self, account: &AccountId) -> Result<Option<Contents>, Error> {
        Ok(self.table.get(&Self::contents_key(account)).await?)
    }

    /// Reads the item of an entry. Returns `None` if the item has expired.
    ///
    /// # Errors
    /// [`Error::stale`] if the stored item is not the version of the entry.
    pub(crate) async fn item_of(
        &self,
        account: &AccountId,
        entry: Entry,
        now: TimestampMillis,
    ) -> Result<Option<CartItem>, Error> {
        match self.find(account, entry.item, now).await? {
            Some(found) if found.sort.status == Status::Active && found.version == entry.version => {
                Ok(Some(found).filter(|found| found.is_live(now)))
            }
            Some(_) => Err(Error::stale()),
            None if entry.is_settling(now) => Err(Error::stale()),
            None => Ok(None),
        }
    }

    /// Reads all items of a cart with strong consistency. Leaves out expired items.
    ///
    /// A query is not a snapshot: it may return an item as it was before or after a transaction
    /// that is already visible in `contents`. The versions of the entries detect this.
    ///
    /// # Errors
    /// [`Error::stale`] if an item is not the version of its entry.
    pub(crate) async fn in_cart(
        &self,
        account: &AccountId,
        contents: &Contents,
        now: TimestampMillis,
    ) -> Result<InCart, Error> {
        // A job may still have to move the items of a checkout, which the query would read.
        if contents.items.is_empty() {
            return Ok(InCart::default());
        }
        let (found, unreadable) = self.active(account).await?;
        let mut found: BTreeMap<ItemId, CartItem> =
            found.into_iter().map(|cart_item| (cart_item.id(), cart_item)).collect();
        let (mut in_cart, mut missed) = (InCart::default(), Vec::new());
        for (sku, entry) in &contents.items {
            match found.remove(&entry.item) {
                Some(cart_item) if cart_item.version == entry.version => in_cart.cart_items.push(cart_item),
                Some(_) => return Err(Error::stale()),
                None if unreadable.contains(&entry.item) => drop(in_cart.unreadable.insert(sku.clone(), *entry)),
                None => missed.push(*entry),
            }
        }
        // Only a cart whose items TTL has deleted has many of them.
        let looks = missed.into_iter().map(|entry| self.item_of(account, entry, now));
        let looked: Vec<Option<CartItem>> = Box::pin(stream::iter(looks).buffered(AT_ONCE).try_collect()).await?;
        in_cart.cart_items.extend(looked.into_iter().flatten());
        in_cart.cart_items.retain(|cart_item| cart_item.is_live(now));
        in_cart.cart_items.sort_by_key(|cart_item| Reverse(cart_item.sort));
        Ok(in_cart)
    }

    /// Reads the stored `ACTIVE` items. Returns the ids of unreadable items separately.
    async fn active(&self, account: &AccountId) -> Result<(Vec<CartItem>, Vec<ItemId>), Error> {
        let range = CartItemSort::with_status(&Status::Active);
        let (page, keys) = self.table.query_all_with_unreadable(&Query::new(account, &range)).await?;
        let item = |key: &Key| key.sort().parse::<CartItemSort>().ok().map(|sort| sort.item);
        Ok((page.items, keys.iter().filter_map(item).collect()))
    }

    /// Returns the change of the contents that puts an item into the cart.
    ///
    /// Usually, the change depends on nothing but the product itself, so additions of different
    /// products do not conflict. Only if the contents refuse the item as they were read, expired
    /// items are taken out of them.
    ///
    /// # Errors
    /// 409 for a full cart, or for an item in another currency.
    pub(crate) async fn entering(
        &self,
        contents: Option<&Contents>,
        cart_item: &CartItem,
        now: TimestampMillis,
    ) -> Result<Change, Error> {
        let (sku, currency) = (&cart_item.sku, cart_item.price.currency());
        let admits = |contents: &&Contents| {
            let is_open = !contents.items.is_empty() && contents.items.len() < MAX_ITEMS;
            is_open && contents.currency == Some(currency) && !contents.items.contains_key(sku)
        };
        if contents.is_some_and(|contents| admits(&contents)) {
            let limit = i64::try_from(MAX_ITEMS).unwrap_or(i64::MAX);
            let change = self.contents_update(&cart_item.account);
            let change = change.set_entry(Contents::ITEMS, sku, &Entry::of(cart_item));
            let change = change.set(Contents::EXPIRES_AT, self.contents_expiry(now));
            let change = change.only_if(Condition::entry_missing(Contents::ITEMS, sku));
            let change = change.only_if(Condition::fewer_entries(Contents::ITEMS, limit));
            return Ok(change.only_if(Condition::is(Contents::CURRENCY, &currency)));
        }
        let in_cart = match contents {
            Some(contents) => self.in_cart(&cart_item.account, contents, now).await?,
            None if self.restore(&cart_item.account, now).await? => return Err(Error::stale()),
            None => InCart::default(),
        };
        self.rewritten(contents, &cart_item.account, in_cart, Some(cart_item), now)
    }

    /// Returns the change that writes the contents with the items `in_cart` and the item
    /// `entering`. Creates the contents if they do not exist.
    ///
    /// # Errors
    /// 409 for a full cart, or for an item in another currency.
    pub(crate) fn rewritten(
        &self,
        contents: Option<&Contents>,
        account: &AccountId,
        in_cart: InCart,
        entering: Option<&CartItem>,
        now: TimestampMillis,
    ) -> Result<Change, Error> {
        let new = self.rewriting(contents, account, in_cart, entering, now)?;
        contents.map_or_else(|| Ok(self.table.put_new(&new)?), |old| self.replacing(old, &new))
    }

    fn rewriting(
        &self,
        contents: Option<&Contents>,
        account: &AccountId,
        mut in_cart: InCart,
        entering: Option<&CartItem>,
        now: TimestampMillis,
    ) -> Result<Contents, Error> {
        in_cart.cart_items.retain(|cart_item| entering.is_none_or(|entering| entering.sku != cart_item.sku));
        let entries = in_cart.cart_items.iter().chain(entering);
        let mut items: BTreeMap<Sku, Entry> =
            entries.map(|cart_item| (cart_item.sku.clone(), Entry::of(cart_item))).collect();
        if let Some(sku) = in_cart.unreadable.keys().find(|sku| items.contains_key(*sku)) {
            return Err(Error::Internal(format!("the item of {sku} in the cart cannot be read")));
        }
        // Unreadable items keep the currency of the cart.
        let unreadable = contents.and_then(|old| old.currency).filter(|_| !in_cart.unreadable.is_empty());
        items.extend(in_cart.unreadable);
        if items.len() > MAX_ITEMS {
            let detail = format!("A cart has at most {MAX_ITEMS} active items.");
            return Err(Error::Conflict(Problem::CartFull, detail));
        }
        let currency_of = |cart_item: &CartItem| cart_item.price.currency();
        let others = in_cart.cart_items.first().map(currency_of).or(unreadable);
        let currency = entering.map(currency_of).or(others);
        if let Some((other, currency)) = others.zip(currency).filter(|(other, currency)| other != currency) {
            let detail = format!("The cart has items in {other}, and the product has {currency}.");
            return Err(Error::Conflict(Problem::CartCurrency, detail));
        }
        Ok(Contents {
            account: account.clone(),
            sort: CartSort,
            version: contents.map_or(0, |old| old.version) + 1,
            currency,
            items,
            moving: contents.map(|old| old.moving.clone()).unwrap_or_default(),
            ordered_at: contents.and_then(|old| old.ordered_at),
            expires_at: self.contents_expiry(now),
        })
    }

    /// Creates the contents of a cart from its stored items and orders, if an operator has deleted
    /// them. Returns `false` if the cart has no items.
    pub(crate) async fn restore(&self, account: &AccountId, now: TimestampMillis) -> Result<bool, Error> {
        let (mut cart_items, _) = self.active(account).await?;
        cart_items.retain(|cart_item| cart_item.is_live(now));
        if cart_items.is_empty() {
            return Ok(false);
        }
        let orders = self.table.query_all::<Order>(&Query::new(account, &OrderSort::all())).await?.items;
        let mut moving = BTreeMap::new();
        for order in orders.iter().filter(|order| order.moving && order.status == OrderStatus::Placed) {
            let lines = self.lines(account, order.id()).await?;
            cart_items.retain(|cart_item| lines.iter().all(|line| line.item() != cart_item.id()));
            moving.insert(order.id().clone(), order.placed_at);
        }
        let in_cart = InCart { cart_items, ..InCart::default() };
        let ordered_at = orders.iter().map(|order| order.placed_at).max();
        let restored = Contents { moving, ordered_at, ..self.rewriting(None, account, in_cart, None, now)? };
        self.dynamo.write(self.table.put_new(&restored)?).await?;
        Ok(true)
    }

    /// Returns the change that replaces the contents if they have not changed since they were read.
    pub(crate) fn replacing(&self, old: &Contents, new: &Contents) -> Result<Change, Error> {
        Ok(self.table.replace(new)?.only_if(Condition::is(Contents::VERSION, old.version)))
    }

    /// Returns the change of the contents for a new version of an item in the cart.
    pub(crate) fn changing(&self, old: &CartItem, new: &CartItem, now: TimestampMillis) -> Change {
        let change = self.contents_update(&old.account);
        let change = change.set_entry(Contents::ITEMS, &old.sku, &Entry::of(new));
        let change = if old.expires_at == new.expires_at {
            change
        } else {
            change.set(Contents::EXPIRES_AT, self.contents_expiry(now))
        };
        change.only_if(Condition::entry_is(Contents::ITEMS, &old.sku, &Entry::of(old)))
    }

    /// Returns the change of the contents that takes an item out of the cart.
    pub(crate) fn taking_out(&self, old: &CartItem) -> Change {
        let change = self.contents_update(&old.account).remove_entry(Contents::ITEMS, &old.sku);
        change.only_if(Condition::entry_is(Contents::ITEMS, &old.sku, &Entry::of(old)))
    }

    /// Returns the change of the contents after all items of an order were moved.
    pub(crate) fn moved(&self, account: &AccountId, order: &OrderId) -> Change {
        self.contents_update(account).remove_entry(Contents::MOVING, order)
    }

    fn contents_update(&self, account: &AccountId) -> Change {
        self.table.update(Self::contents_key(account)).add(Contents::VERSION, 1)
    }
}
