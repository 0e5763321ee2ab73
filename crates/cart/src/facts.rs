use crate::{CartItem, Order, Product, Quantity};
use function::{Error, Record};
use keys::{
    AccountId, OrderId, Sku, TimestampMillis,
    cart::{ItemId, OrderStatus, Status},
};
use money::{Currency, Decimal};
use publisher::Facts;
use schemars::JsonSchema;
use serde::Serialize;
use table::Item;

/// Events of the cart.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all_fields = "camelCase")]
pub enum Fact {
    /// A product was put into a cart that did not contain it.
    CartItemAdded(CartItemFact),
    /// TTL deleted a cart item that nobody had changed for `CartDays` days. The customer has left
    /// the cart.
    CartItemExpired(CartItemFact),
    /// A customer placed an order.
    OrderPlaced(OrderFact),
    /// An operator marked the order as shipped.
    OrderShipped(OrderFact),
    /// An operator marked the order as delivered.
    OrderDelivered(OrderFact),
    /// The order was cancelled.
    OrderCancelled(OrderFact),
    /// An operator changed the price of a product.
    ProductPriceChanged {
        /// The product.
        sku: Sku,
        /// The new price of one unit.
        price: Decimal,
        /// The currency of the new price.
        currency: Currency,
        /// The price before the change.
        previous_price: Decimal,
        /// The currency of the price before the change.
        previous_currency: Currency,
        /// The version of the product after the change.
        version: i64,
    },
}

/// The cart item of an event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct CartItemFact {
    /// The account that owns the cart.
    account_id: AccountId,
    /// The cart item.
    item_id: ItemId,
    /// The product.
    sku: Sku,
    /// The quantity.
    quantity: Quantity,
    /// The price of one unit when the product was added.
    price: Decimal,
    /// The currency of the price.
    currency: Currency,
    /// The time at which the product was added.
    added_at: TimestampMillis,
}

/// The order of an event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct OrderFact {
    /// The account that placed the order.
    account_id: AccountId,
    /// The order.
    order_id: OrderId,
    /// The sum of all lines.
    total: Decimal,
    /// The currency of the total.
    currency: Currency,
    /// The time of the checkout.
    placed_at: TimestampMillis,
    /// The version of the order. It increases with each change of the status.
    version: i64,
}

impl Facts for Fact {
    const SOURCE: &'static str = "cart";
}

impl Fact {
    /// Returns the fact of a stream record of `Cart` or `Products`.
    pub(crate) fn of(record: &Record) -> Result<Option<Self>, Error> {
        match record.item_type() {
            Some(CartItem::TYPE) if record.is_insertion() => {
                let item = record.new_image::<CartItem>()?;
                let is_new = item.previous.is_none() && item.sort.status == Status::Active;
                Ok(is_new.then(|| Self::CartItemAdded(item.into())))
            }
            Some(CartItem::TYPE) if record.is_expiry() => {
                let item = record.old_image::<CartItem>()?;
                Ok(item.is_open().then(|| Self::CartItemExpired(item.into())))
            }
            Some(Order::TYPE) if record.is_insertion() => {
                Ok(Some(Self::OrderPlaced(record.new_image::<Order>()?.into())))
            }
            Some(Order::TYPE) if record.is_modification() => {
                let (old, new) = (record.old_image::<Order>()?, record.new_image::<Order>()?);
                Ok(Self::of_order(old.status, new))
            }
            Some(Product::TYPE) if record.is_modification() => {
                let (old, new) = (record.old_image::<Product>()?, record.new_image::<Product>()?);
                Ok((old.price != new.price).then(|| Self::ProductPriceChanged {
                    sku: new.sku,
                    price: new.price.amount(),
                    currency: new.price.currency(),
                    previous_price: old.price.amount(),
                    previous_currency: old.price.currency(),
                    version: new.version,
                }))
            }
            _ => Ok(None),
        }
    }

    fn of_order(before: OrderStatus, order: Order) -> Option<Self> {
        let status = order.status;
        match status {
            _ if status == before => None,
            OrderStatus::Placed => None,
            OrderStatus::Shipped => Some(Self::OrderShipped(order.into())),
            OrderStatus::Delivered => Some(Self::OrderDelivered(order.into())),
            OrderStatus::Cancelled => Some(Self::OrderCancelled(order.into())),
        }
    }
}

impl From<CartItem> for CartItemFact {
    fn from(item: CartItem) -> Self {
        Self {
            item_id: item.id(),
            account_id: item.account,
            sku: item.sku,
            quantity: item.quantity,
            price: item.price.amount(),
            currency: item.price.currency(),
            added_at: item.added_at,
        }
    }
}

impl From<Order> for OrderFact {
    fn from(order: Order) -> Self {
        Self {
            order_id: order.id().clone(),
            account_id: order.account,
            total: order.total.amount(),
            currency: order.total.currency(),
            placed_at: order.placed_at,
            version: order.version,
        }
    }
}
