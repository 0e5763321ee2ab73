use crate::model::{
    change::{Change, Dropped, Exported, Images, Why},
    schema::{Read, TableOf, always, state, tracked, version},
};
use cart::Order;
use keys::cart::OrderSort;

/// The header of an order. Its lines are the cart items with its `order_id`.
impl Exported for Order {
    const TABLE: TableOf<Self> = TableOf {
        changes: "order_changes",
        items: "orders",
        source: "Cart",
        about: "orders",
        key: &["account_id", "order_id"],
        ended: None,
        columns: &[
            always("account_id", Read::Account(|order| Some(order.account.clone())), "account that placed the order"),
            always("order_id", Read::Text(|order| Some(order.id().to_string())), "the order"),
            version(),
            always("placed_at", Read::Time(|order| Some(order.placed_at.into())), "time of the checkout"),
            always("total", Read::Amount(|order| Some(order.total.amount())), "sum of all lines"),
            always("currency", Read::Text(|order| Some(order.total.currency().code().to_owned())), "ISO 4217"),
            tracked(
                "status",
                Read::Text(|order| Some(order.status.to_string())),
                "`PLACED`, `SHIPPED`, `DELIVERED` or `CANCELLED`",
            ),
            tracked(
                "status_changed_at",
                Read::Time(|order| Some(order.status_changed_at.into())),
                "time of the status change",
            ),
            state(
                "changed_by",
                Read::Person(|order| Some(order.changed_by.sub.clone())),
                "caller who changed the status, or placed the order",
            ),
        ],
    };

    const IS_NUMBERED: bool = true;

    fn is_key(sort: &str) -> bool {
        sort.parse::<OrderSort>().is_ok()
    }

    fn version(&self) -> i64 {
        self.version
    }

    /// The end of a job changes an attribute that is no column, and keeps the version.
    fn change(images: Images<Self>) -> Result<Change<Self>, Why> {
        match images {
            Images::Modified(new, Some(old)) if new.version == old.version => Err(Dropped::Unchanged.into()),
            images => Ok(Change::plain(images)),
        }
    }
}
