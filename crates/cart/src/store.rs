use crate::{
    Cart, CartItem,
    model::{contents::Contents, pointer::Pointer},
};
use function::Error;
use keys::{
    AccountId, TimestampMillis,
    cart::{CartItemSort, ItemId, ItemSort, Status},
};
use table::{Change, Condition, Key};

/// Maximum number of attempts to read a cart item whose key changes concurrently.
const MAX_LOOKS: usize = 5;

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

    /// Reads the cart item whose id is `item` with eventual consistency, as customers see it.
    ///
    /// What says where the item is, is read with strong consistency: the pointer, and the contents
    /// of the cart after the item. Otherwise a read could show an item as saved that an order has
    /// bought. Returns `None` if the item is missing or has expired, or if the contents do not have
    /// it in this version. [`Cart::locate`] reads such an item.
    pub(crate) async fn glimpse(
        &self,
        account: &AccountId,
        item: ItemId,
        now: TimestampMillis,
    ) -> Result<Option<CartItem>, Error> {
        let first = match CartItemSort::first(item) {
            Some(first) => self.table.get_eventually::<CartItem>(&Key::new(account, &first)).await?,
            None => None,
        };
        let found = match first {
            Some(found) => Some(found),
            None => match self.pointer(account, item).await? {
                Some(pointer) if pointer.cart_item.status.is_listed() => {
                    self.table.get_eventually::<CartItem>(&pointer.cart_item_key()).await?
                }
                _ => None,
            },
        };
        let Some(found) = found.filter(|found| found.is_live(now)) else { return Ok(None) };
        if found.sort.status != Status::Active {
            return Ok(Some(found));
        }
        let contents = self.contents(account).await?;
        Ok(contents.filter(|contents| contents.lists_version(&found)).map(|_| found))
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
