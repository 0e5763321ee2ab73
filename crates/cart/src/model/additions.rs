use crate::{Cart, CartItem, MAX_ITEMS, store::unexpired};
use function::{Error, Problem};
use jiff::SignedDuration;
use keys::{
    AccountId, RequestId, Sku, TimestampMillis,
    cart::{CartItemSort, CartSort, ItemId, Status},
};
use money::Currency;
use serde::{Deserialize, Serialize};
use table::{Attributes, Change, Condition, Item, Key, Query};

/// Item `CART` of a cart. Every addition writes this item, so the additions to a cart are
/// serialised (docs/decisions/cart-additions.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Additions {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: CartSort,
    /// Id of the last request that added a cart item. Request ids never repeat. A counter would
    /// repeat old values after TTL deleted `CART`.
    last: RequestId,
    /// Sort keys of the most recently added cart items, oldest first.
    recent: Vec<CartItemSort>,
    expires_at: i64,
}

impl Item for Additions {
    const TYPE: &'static str = "Cart";
}

/// Maximum number of sort keys in `recent`. An addition becomes visible to queries before this many
/// later additions can complete.
const MAX_RECENT: usize = 8;

/// Maximum time between an addition and its visibility to queries.
const SETTLING: SignedDuration = SignedDuration::from_mins(1);

/// Cart as it was read: the item `CART` and the ACTIVE cart items.
#[derive(Debug)]
pub(crate) struct CartState {
    additions: Option<Additions>,
    /// ACTIVE cart items that have not expired.
    pub(crate) cart_items: Vec<CartItem>,
    /// Number of ACTIVE cart items that cannot be read (docs/decisions/cart-unreadable-items.md).
    pub(crate) skipped: usize,
}

impl Cart {
    /// Reads the item `CART`. Call this function before you query the cart items. The condition on
    /// `CART` then fails if another request adds an item in the meantime.
    pub(crate) async fn additions(&self, account: &AccountId) -> Result<Option<Additions>, Error> {
        Ok(self.table.get(&Key::new(account, &CartSort)).await?)
    }

    /// Reads the ACTIVE cart items with strong consistency, including every item of `additions`.
    ///
    /// A query is not a snapshot: it may miss a cart item whose addition is already recorded in
    /// `CART`. If a recently added item is missing, its pointer must show that the item has left
    /// the cart. Otherwise this function returns [`Error::stale`], and the caller retries. `known`
    /// is an item that is not in the cart, and its pointer is not checked. Cart items that cannot
    /// be read are counted.
    pub(crate) async fn look(
        &self,
        account: &AccountId,
        additions: Option<Additions>,
        known: Option<ItemId>,
        now: TimestampMillis,
    ) -> Result<CartState, Error> {
        let clock = additions.as_ref().map_or(now, |additions| additions.clock(now));
        let range = CartItemSort::with_status(Status::Active);
        let query = Query::new(account, &range).only_if(unexpired(clock));
        let page = self.table.query_all(&query).await?;
        let state = CartState { cart_items: page.items, skipped: page.skipped, additions };
        for added in state.missing(now).filter(|added| known != Some(added.item)) {
            let skipped = state.skipped > 0 && self.is_unreadable(account, added).await?;
            if !skipped && !self.has_left(account, added, clock).await? {
                return Err(Error::stale());
            }
        }
        Ok(state)
    }

    /// Returns whether the pointer of an added item shows that the item has left the cart. An item
    /// whose pointer cannot be read counts as such: no later read would show more.
    async fn has_left(&self, account: &AccountId, added: &CartItemSort, clock: TimestampMillis) -> Result<bool, Error> {
        match self.pointer(account, added.item).await {
            Ok(Some(pointer)) => {
                let elsewhere = pointer.cart_item != *added && pointer.cart_item.since >= added.since;
                Ok(elsewhere || !pointer.is_live(clock))
            }
            Ok(None) => Ok(false),
            Err(Error::Table(table::Error::Unreadable(..))) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Returns whether an added item is in the cart, but cannot be read.
    async fn is_unreadable(&self, account: &AccountId, added: &CartItemSort) -> Result<bool, Error> {
        match self.table.get::<CartItem>(&Key::new(account, added)).await {
            Ok(_) => Ok(false),
            Err(table::Error::Unreadable(..)) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the change to `CART` that records the addition of `cart_item`. The change fails if
    /// another item was added after the cart was read.
    pub(crate) fn addition(
        &self,
        state: &CartState,
        cart_item: &CartItem,
        last: RequestId,
        now: TimestampMillis,
    ) -> Result<Change, Error> {
        let mut recent = state.additions.as_ref().map_or_else(Vec::new, |additions| additions.recent.clone());
        recent.drain(..recent.len().saturating_sub(MAX_RECENT - 1));
        recent.push(cart_item.sort);
        let (account, expires_at) = (cart_item.account.clone(), self.days.and_one().after(now));
        let additions = Additions { account, sort: CartSort, last, recent, expires_at };
        Ok(match &state.additions {
            Some(old) => self.table.replace(&additions)?.only_if(Condition::is(Additions::LAST, &old.last)),
            None => self.table.put_new(&additions)?,
        })
    }

    /// Returns a condition check that fails if an item was added after the cart was read.
    pub(crate) fn nothing_added(&self, account: &AccountId, additions: Option<&Additions>) -> Change {
        let key = Key::new(account, &CartSort);
        match additions {
            Some(additions) => self.table.present(key).only_if(Condition::is(Additions::LAST, &additions.last)),
            None => self.table.absent(key),
        }
    }

    /// Returns the changes of [`Cart::transition`] for an item that stays in the cart. If they
    /// renew the expiry, they also fail if another item was added after the cart was read. The
    /// other addition may have treated this item as expired.
    pub(crate) fn change_in_cart(
        &self,
        old: &CartItem,
        new: &CartItem,
        additions: Option<&Additions>,
    ) -> Result<Vec<Change>, Error> {
        let mut changes = self.transition(old, new)?;
        if old.expires_at != new.expires_at {
            changes.push(self.nothing_added(&old.account, additions));
        }
        Ok(changes)
    }
}

impl CartState {
    pub(crate) fn additions(&self) -> Option<&Additions> {
        self.additions.as_ref()
    }

    /// Returns the cart item of the product.
    pub(crate) fn cart_item_of(&self, sku: &Sku) -> Option<&CartItem> {
        self.cart_items.iter().find(|cart_item| cart_item.sku == *sku)
    }

    /// Returns the error 409 if the cart has an item of another product in another currency.
    pub(crate) fn must_have_currency(&self, currency: Currency, sku: &Sku) -> Result<(), Error> {
        let mut others = self.cart_items.iter().filter(|cart_item| cart_item.sku != *sku);
        match others.find(|other| other.price.currency() != currency) {
            None => Ok(()),
            Some(other) => {
                let detail =
                    format!("The cart has items in {}, and the product has {currency}.", other.price.currency());
                Err(Error::Conflict(Problem::CartCurrency, detail))
            }
        }
    }

    /// Returns the error 409 if the cart has no room for `more` additional items. Items that cannot
    /// be read take up room, because they can be repaired.
    pub(crate) fn must_have_room_for(&self, more: usize) -> Result<(), Error> {
        if self.cart_items.len() + self.skipped + more <= MAX_ITEMS {
            return Ok(());
        }
        let detail = format!("A cart has at most {MAX_ITEMS} active items, because a checkout is one transaction.");
        Err(Error::Conflict(Problem::CartFull, detail))
    }

    /// Returns the sort keys of the items that were added in the last minute but are missing from
    /// the query result.
    fn missing(&self, now: TimestampMillis) -> impl Iterator<Item = &CartItemSort> {
        let recent = self.additions.iter().flat_map(|additions| &additions.recent);
        let is_settling = move |added: &&CartItemSort| now.instant().duration_since(added.since.instant()) < SETTLING;
        let is_there = |added: &CartItemSort| {
            self.cart_items.iter().any(|cart_item| cart_item.id() == added.item && cart_item.sort.since >= added.since)
        };
        recent.filter(is_settling).filter(move |added| !is_there(added))
    }
}

impl Additions {
    /// Returns the time for expiry checks: the later of `now` and the time of the last addition. If
    /// an addition treated an item as expired, all later requests must also treat the item as
    /// expired.
    pub(crate) fn clock(&self, now: TimestampMillis) -> TimestampMillis {
        self.recent.last().map_or(now, |last| last.since.max(now))
    }
}
