use crate::model::{
    change::{Change, Dropped, Exported, Images, Operation, Why, unsendable},
    row::Time,
    schema::{Read, TableOf, always, state, tracked, version},
};
use cart::{CartItem, Previous};
use keys::cart::{CartItemSort, Status};

impl Exported for CartItem {
    const TABLE: TableOf<Self> = TableOf {
        changes: "cart_changes",
        items: "cart_items",
        source: "Cart",
        about: "cart items",
        key: &["account_id", "item_id"],
        ended: Some("JOINED"),
        columns: &[
            always("account_id", Read::Account(|item| Some(item.account.clone())), "account of the cart"),
            always("item_id", Read::Text(|item| Some(item.id().to_string())), "the cart item; it never changes"),
            always("sku", Read::Text(|item| Some(item.sku.to_string())), "the product"),
            version(),
            always("added_at", Read::Time(|item| Some(item.added_at.into())), "time at which the item was added"),
            tracked(
                "status",
                Read::Text(|item| Some(item.sort.status.to_string())),
                "`ACTIVE`, `SAVED`, `PURCHASED`, `SHIPPED` or `CANCELLED`; `JOINED` if merged into another item",
            ),
            tracked("status_changed_at", Read::Time(|item| Some(item.sort.since.into())), "time of the status change"),
            tracked("quantity", Read::Int(|item| i32::try_from(u32::from(item.quantity)).ok()), "1 to 9,999"),
            tracked("price", Read::Amount(|item| Some(item.price.amount())), "unit price"),
            tracked("currency", Read::Text(|item| Some(item.price.currency().code().to_owned())), "ISO 4217"),
            tracked("order_id", Read::Text(|item| Some(item.order_id.as_ref()?.to_string())), "order of a bought item"),
            tracked(
                "expires_at",
                Read::Time(|item| item.expires_at.and_then(Time::of_seconds)),
                "time at which an unchanged item expires",
            ),
            state(
                "joined_to",
                Read::Text(|item| Some(item.joined_to?.to_string())),
                "`item_id` of the item that this item was merged into",
            ),
        ],
    };

    const IS_NUMBERED: bool = true;

    fn is_key(sort: &str) -> bool {
        sort.parse::<CartItemSort>().is_ok()
    }

    fn version(&self) -> i64 {
        self.version
    }

    /// A removed or merged item stays in the table for a week.
    fn snapshot(self) -> Result<Change<Self>, Why> {
        if self.sort.status.is_listed() {
            return Ok(Change::to(Operation::Snapshot, self, None));
        }
        Err(Dropped::Ended.into())
    }

    /// A status change deletes the item and inserts it under a new key. The insertion alone
    /// describes the change (docs/decisions/export.md).
    fn change(images: Images<Self>) -> Result<Change<Self>, Why> {
        match images {
            Images::Modified(item, _) | Images::Removed { item, by_ttl: true } if !item.sort.status.is_listed() => {
                Err(Dropped::Ended.into())
            }
            Images::Removed { by_ttl: false, .. } => Err(Dropped::MovedAway.into()),
            Images::Inserted(item) => inserted(item),
            images => Ok(Change::plain(images)),
        }
    }
}

fn inserted(item: CartItem) -> Result<Change<CartItem>, Why> {
    match (item.sort.status, before_move(&item)) {
        (Status::Removed, Some(old)) => Ok(Change::gone(Operation::Remove, item.clone(), old, item.version)),
        (_, Some(old)) => Ok(Change::to(Operation::Move, item, Some(old))),
        (status, None) if status.is_listed() => Ok(Change::to(Operation::Insert, item, None)),
        (_, None) => Err(unsendable("a REMOVED or JOINED cart item without `Previous`")),
    }
}

/// Returns the item before its last status change. A bought item keeps its order. The old expiry is
/// unknown.
fn before_move(item: &CartItem) -> Option<CartItem> {
    let Previous { status, since, quantity, price } = item.previous?;
    let sort = CartItemSort { status, since, item: item.sort.item };
    let order_id = item.order_id.clone().filter(|_| status == Status::Purchased);
    Some(CartItem { sort, quantity, price: price.unwrap_or(item.price), order_id, expires_at: None, ..item.clone() })
}
