use crate::{
    CartItem, Product,
    model::{contents::Contents, pointer::Pointer},
};
use function::{App, Clients, Error, SettingsReader};
use jobs::Jobs;
use keys::{
    AccountId, TimestampMillis,
    cart::{CartItemSort, ItemId, ItemSort, Status},
};
use table::{Change, Condition, Dynamo, Index, Key, Query, Table};

/// Maximum number of ACTIVE items in a cart (docs/requirements/cart.md#large-carts).
pub const MAX_ITEMS: usize = 200;

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
    pub(crate) jobs: Jobs,
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
        let jobs = settings.get("CART_JOBS_TABLE").map(|name| Jobs::new(clients.dynamo(), name));
        let by_sku = Index { name: "GSI1".into(), partition: CartItem::INDEX_PARTITION, sort: CartItem::INDEX_SORT };
        let by_product = Index { name: "GSI1".into(), partition: Product::INDEX_PARTITION, sort: Product::INDEX_SORT };
        let (dynamo, days) = (clients.dynamo().clone(), settings.get("CART_DAYS"));
        Some(Self { dynamo, table: table?, by_sku, products: products?, by_product, jobs: jobs?, days: days? })
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

    pub(crate) async fn warm_by_job(self) {
        self.jobs.warm_up().await;
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
    /// Reads the stored cart item whose id is `item`, with strong consistency. The item may have
    /// expired. `REMOVED` and `JOINED` items are treated as missing.
    ///
    /// The id contains the first sort key of the item. After a status change, a pointer has the
    /// sort key.
    ///
    /// # Errors
    /// [`Error::stale`] if the key of the item changed during every attempt. The caller retries in
    /// this case.
    pub(crate) async fn find(
        &self,
        account: &AccountId,
        item: ItemId,
        now: TimestampMillis,
    ) -> Result<Option<CartItem>, Error> {
        for look in 0..MAX_LOOKS {
            if let Some(first) = CartItemSort::first(item)
                && let Some(cart_item) = self.table.get::<CartItem>(&Key::new(account, &first)).await?
            {
                return Ok(Some(cart_item));
            }
            match self.pointer(account, item).await? {
                Some(pointer) if pointer.cart_item.status.is_listed() && pointer.is_live(now) => {
                    if let Some(cart_item) = self.table.get::<CartItem>(&pointer.cart_item_key()).await? {
                        return Ok(Some(cart_item));
                    }
                }
                Some(_) => return Ok(None),
                // The first status change may have happened between the two reads.
                None if look > 0 => return Ok(None),
                None => {}
            }
            // Read again: the status changed between the two reads, or only one of the reads saw
            // the transaction of the status change.
        }
        Err(Error::stale())
    }

    /// Reads the cart item whose id is `item` as customers see it. For an item in the cart, also
    /// returns the contents of the cart.
    ///
    /// # Errors
    /// 404 for an item that does not exist or has expired. [`Error::stale`] if the item changed
    /// during the reads.
    pub(crate) async fn locate(
        &self,
        account: &AccountId,
        item: ItemId,
        now: TimestampMillis,
    ) -> Result<(CartItem, Option<Contents>), Error> {
        let found = self.find(account, item, now).await?.filter(|found| found.is_live(now));
        let cart_item = found.ok_or(Error::NotFound("cart item"))?;
        if cart_item.sort.status != Status::Active {
            return Ok((cart_item, None));
        }
        let contents = self.contents(account).await?;
        let Some(contents) = contents else { return Ok((cart_item, None)) };
        if contents.has(&cart_item)? {
            return Ok((cart_item, Some(contents)));
        }
        for order in contents.moving.keys() {
            let (order, lines) = self.order_with_lines(account, order).await?;
            if let Some(line) = lines.iter().find(|line| line.item() == item) {
                return Ok((line.purchased(&order), None));
            }
        }
        // A change between the two reads has moved the item, or an addition has replaced it because
        // it had expired.
        match self.find(account, item, now).await? {
            Some(found) if found == cart_item => Err(Error::NotFound("cart item")),
            _ => Err(Error::stale()),
        }
    }

    /// Reads a cart item that a request changes. Creates the contents of the cart if an operator
    /// has deleted them.
    ///
    /// # Errors
    /// The errors of [`Cart::locate`].
    pub(crate) async fn locate_to_change(
        &self,
        account: &AccountId,
        item: ItemId,
        now: TimestampMillis,
    ) -> Result<CartItem, Error> {
        let (cart_item, contents) = self.locate(account, item, now).await?;
        if cart_item.sort.status == Status::Active && contents.is_none() {
            self.restore(account, now).await?;
            return Err(Error::stale());
        }
        Ok(cart_item)
    }

    /// Reads the pointer of the cart item with the id `item`.
    pub(crate) async fn pointer(&self, account: &AccountId, item: ItemId) -> Result<Option<Pointer>, Error> {
        Ok(self.table.get(&Key::new(account, &ItemSort(item))).await?)
    }

    /// Returns the changes that replace the cart item `old` with its next version `new`. They fail
    /// if the version of the stored item differs from `old`. If the sort key stays the same, the
    /// item is overwritten. Otherwise `old` is deleted and `new` is put.
    ///
    /// Always execute the changes in a transaction, even a single change. If a response is lost,
    /// the SDK retries with the same client token, so the changes are applied only once.
    pub(crate) fn transition(&self, old: &CartItem, new: &CartItem) -> Result<Vec<Change>, Error> {
        let unchanged = Condition::is(CartItem::VERSION, old.version);
        if old.sort != new.sort {
            let delete = self.table.delete(old.key()).only_if(unchanged);
            // An item without a pointer that leaves its first key does not exist any more.
            let is_gone = new.sort.status == Status::Removed && old.previous.is_none();
            let put = if is_gone { vec![self.table.put_new(new)?] } else { self.arrival(new)? };
            return Ok([delete].into_iter().chain(put).collect());
        }
        let mut changes = vec![self.table.replace(new)?.only_if(unchanged)];
        if new.previous.is_some() && old.expires_at != new.expires_at {
            changes.push(self.table.put(&Pointer::to(new))?);
        }
        Ok(changes)
    }

    /// Returns the changes that put a cart item under a new key, and its pointer. The put of the
    /// pointer needs no condition, because every change of a pointer also changes its item. It
    /// therefore repairs a damaged pointer.
    pub(crate) fn arrival(&self, new: &CartItem) -> Result<Vec<Change>, Error> {
        Ok(vec![self.table.put_new(new)?, self.table.put(&Pointer::to(new))?])
    }
}

/// Returns the condition that a cart item has not expired. TTL deletes expired items hours or days
/// later.
pub(crate) fn unexpired(now: TimestampMillis) -> Condition {
    Condition::missing_or_over(CartItem::EXPIRES_AT, now.second().instant().as_second())
}
