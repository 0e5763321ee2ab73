use crate::{CartItem, Product, model::pointer::Pointer};
use function::{App, Clients, Error, SettingsReader};
use keys::{
    AccountId, TimestampMillis,
    cart::{CartItemSort, ItemId, ItemSort},
};
use table::{Change, Condition, Dynamo, Index, Key, MAX_CHANGES, Query, Table};

/// Maximum number of ACTIVE items in a cart.
///
/// A checkout buys all of these items in one transaction. The transaction needs three changes for
/// each cart item, one for the item `CART` and one for the idempotency record.
pub const MAX_ITEMS: usize = (MAX_CHANGES - 2) / 3;

/// Maximum number of attempts to read a cart item whose key changes concurrently.
const MAX_LOOKS: usize = 5;

/// Table and index that the cart's functions use.
#[derive(Debug, Clone)]
pub struct Cart {
    pub(crate) dynamo: Dynamo,
    pub(crate) table: Table,
    /// `GSI1`: cart items by product.
    pub(crate) by_sku: Index,
    pub(crate) products: Table,
    /// `GSI1` of `Products`: all products by SKU.
    pub(crate) by_product: Index,
    /// Days until an unchanged cart item expires.
    pub(crate) days: Days,
}

/// Number of days. The setting allows 1 to 3,650.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Days(i64);

impl std::str::FromStr for Days {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let days = text.parse().ok().filter(|days| (1..=3_650).contains(days));
        days.map(Self).ok_or("must be a number of days from 1 to 3650")
    }
}

impl Days {
    /// Returns the time this number of days after `now`, in Unix seconds.
    pub(crate) fn after(self, now: TimestampMillis) -> i64 {
        now.second().plus_days(self.0).instant().as_second()
    }

    /// Adds one day. Because of the extra day, changes renew the expiry at most once a day.
    pub(crate) fn and_one(self) -> Self {
        Self(self.0 + 1)
    }

    /// Lifetime of a `REMOVED` or `JOINED` item.
    pub(crate) const WEEK: Self = Self(7);
}

impl App for Cart {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let mut table = |name: &str| Some(clients.dynamo().table(settings.get::<String>(name)?));
        let (table, products) = (table("CART_TABLE"), table("PRODUCTS_TABLE"));
        let by_sku = Index { name: "GSI1".into(), partition: CartItem::INDEX_PARTITION, sort: CartItem::INDEX_SORT };
        let by_product = Index { name: "GSI1".into(), partition: Product::INDEX_PARTITION, sort: Product::INDEX_SORT };
        let (dynamo, days) = (clients.dynamo().clone(), settings.get("CART_DAYS"));
        Some(Self { dynamo, table: table?, by_sku, products: products?, by_product, days: days? })
    }
}

/// Warm-up calls, which open the connection to DynamoDB during the init phase. Their results are
/// ignored: if DynamoDB is unreachable, the first invocation reports the error.
impl Cart {
    pub(crate) async fn warm_by_get(self) {
        let _ = self.table.get_eventually::<CartItem>(&Key::placeholder()).await;
    }

    pub(crate) async fn warm_by_query(self) {
        let _ = self.table.page::<CartItem>(&Query::new(&"#", &CartItemSort::nothing()), 1).await;
    }

    pub(crate) async fn warm_by_index(self) {
        let _ = self.table.page::<CartItem>(&Query::new(&"#", &CartItemSort::nothing()).on(&self.by_sku), 1).await;
    }

    pub(crate) async fn warm_by_product(self) {
        let _ = self.products.get_eventually::<Product>(&Key::placeholder()).await;
    }

    pub(crate) async fn warm_by_products(self) {
        let nothing = CartItemSort::nothing();
        let _ = self.products.page::<Product>(&Query::new(&"#", &nothing).on(&self.by_product), 1).await;
    }
}

impl Cart {
    /// Reads the cart item whose id is `item`, with strong consistency. `REMOVED`, `JOINED` and
    /// expired items are treated as missing.
    ///
    /// # Errors
    /// 404 for a missing item. [`Error::stale`] if the key of the item changed during every
    /// attempt. The caller retries in this case.
    pub(crate) async fn locate(
        &self,
        account: &AccountId,
        item: ItemId,
        now: TimestampMillis,
    ) -> Result<CartItem, Error> {
        for _ in 0..MAX_LOOKS {
            let found = self.pointer(account, item).await?;
            let found = found.filter(|pointer| pointer.cart_item.status.is_listed() && pointer.is_live(now));
            let pointer = found.ok_or(Error::NotFound("cart item"))?;
            if let Some(cart_item) = self.table.get::<CartItem>(&pointer.cart_item_key()).await? {
                return if cart_item.is_live(now) { Ok(cart_item) } else { Err(Error::NotFound("cart item")) };
            }
            // Read again: the status changed between the two reads, or only one of the reads saw
            // the transaction of the status change.
        }
        Err(Error::stale())
    }

    /// Reads the pointer of the cart item with the id `item`.
    pub(crate) async fn pointer(&self, account: &AccountId, item: ItemId) -> Result<Option<Pointer>, Error> {
        Ok(self.table.get(&Key::new(account, &ItemSort(item))).await?)
    }

    /// Returns the changes that put a new cart item and its pointer.
    pub(crate) fn insertion(&self, cart_item: &CartItem) -> Result<Vec<Change>, Error> {
        Ok(vec![self.table.put_new(cart_item)?, self.table.put_new(&Pointer::to(cart_item))?])
    }

    /// Returns the changes that replace the cart item `old` with its next version `new`. They fail
    /// if the version of the stored item differs from `old`. If the sort key stays the same, the
    /// item is overwritten. Otherwise `old` is deleted and `new` is put. The pointer is put if the
    /// sort key or the expiry changes. The put needs no condition, because every change of a
    /// pointer also changes the version of its item. It therefore repairs a damaged pointer.
    ///
    /// Always execute the changes in a transaction, even a single change. If a response is lost,
    /// the SDK retries with the same client token, so the changes are applied only once.
    pub(crate) fn transition(&self, old: &CartItem, new: &CartItem) -> Result<Vec<Change>, Error> {
        let unchanged = Condition::is(CartItem::VERSION, old.version);
        let (was, is) = (Pointer::to(old), Pointer::to(new));
        let mut changes = if old.sort == new.sort {
            vec![self.table.replace(new)?.only_if(unchanged)]
        } else {
            vec![self.table.delete(old.key()).only_if(unchanged), self.table.put_new(new)?]
        };
        if was != is {
            changes.push(self.table.put(&is)?);
        }
        Ok(changes)
    }
}

/// Returns the condition that a cart item has not expired. TTL deletes expired items hours or days
/// later.
pub(crate) fn unexpired(now: TimestampMillis) -> Condition {
    Condition::missing_or_over(CartItem::EXPIRES_AT, now.second().instant().as_second())
}
