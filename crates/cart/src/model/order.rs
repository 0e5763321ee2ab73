use crate::{Cart, CartItem, DOMAIN, ProductName, Quantity, model::cart_item::Move, model::days::Days};
use function::{Caller, ChangedBy, Error, Problem, is_zero};
use futures::future::join;
use keys::{
    AccountId, OrderId, Sku, TimestampMillis,
    cart::{CartItemSort, ItemId, LinesSort, OrderSort, OrderStatus, OrdersPartition, Status},
};
use money::{Currency, Decimal, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::{borrow::Cow, str::FromStr};
use table::{Attributes, Change, Condition, Item, Key, MAX_CHANGES, Value};

/// Maximum number of cart items that move in the transaction that decides about their order. The
/// transaction has three changes for each cart item, and four others: the contents of the cart, the
/// order, its lines, and the idempotency record.
pub const MAX_MOVED_AT_ONCE: usize = (MAX_CHANGES - 4) / 3;

/// An order: the part that lists show (docs/decisions/cart-orders.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Order {
    /// Account that placed the order.
    #[serde(rename = "PK")]
    pub account: AccountId,
    /// Order id.
    #[serde(rename = "SK")]
    pub sort: OrderSort,
    /// Partition key of GSI2: the status, and the shard of the order.
    #[serde(rename = "GSI2PK")]
    pub by_status: OrdersPartition,
    /// Status.
    pub status: OrderStatus,
    /// Sum of all lines.
    pub total: Money,
    /// Time of the checkout, which is also the status time of the purchased cart items.
    pub placed_at: TimestampMillis,
    /// Time of the last status change.
    pub status_changed_at: TimestampMillis,
    /// Whether a job is still moving the cart items to the status of the order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moving: bool,
    /// Version number. It starts at 1 and increases by 1 with each status change.
    pub version: i64,
    /// The caller who made the last status change, or placed the order.
    pub changed_by: ChangedBy,
}

impl Item for Order {
    const TYPE: &'static str = "Order";
}

/// The entry of an order in GSI2. The order id contains the time of the checkout
/// (docs/decisions/cart-orders.md).
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct OrderEntry {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    placed: Placed,
    #[serde(rename = "GSI2PK")]
    by_status: OrdersPartition,
    total: Money,
    status_changed_at: TimestampMillis,
}

impl Item for OrderEntry {
    const TYPE: &'static str = Order::TYPE;
}

/// The sort key of an order, with the time in its id.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "OrderSort", into = "OrderSort")]
struct Placed {
    order: OrderId,
    at: TimestampMillis,
}

impl TryFrom<OrderSort> for Placed {
    type Error = &'static str;

    fn try_from(OrderSort(order): OrderSort) -> Result<Self, Self::Error> {
        let at = order.time().ok_or("the order id has no time")?;
        Ok(Self { order, at })
    }
}

impl From<Placed> for OrderSort {
    fn from(Placed { order, .. }: Placed) -> Self {
        Self(order)
    }
}

/// The lines of an order. They never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct OrderLines {
    /// Account that placed the order.
    #[serde(rename = "PK")]
    pub account: AccountId,
    /// Order id.
    #[serde(rename = "SK")]
    pub sort: LinesSort,
    /// The lines, newest cart item first.
    pub lines: Vec<Line>,
}

impl Item for OrderLines {
    const TYPE: &'static str = "OrderLines";
}

/// Line of an order: the cart item as it was bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Line {
    item: ItemId,
    sku: Sku,
    name: ProductName,
    quantity: Quantity,
    /// Price at the checkout.
    price: Money,
    /// Price in the cart, if it was another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cart_price: Option<Money>,
    added_at: TimestampMillis,
    /// Time at which the cart item became `ACTIVE`.
    since: TimestampMillis,
    /// Version of the cart item in the cart.
    version: i64,
}

/// Status that a request sets. A checkout places an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewStatus(pub(crate) OrderStatus);

keys::schema!(NewStatus as "NewOrderStatus": {"type": "string", "enum": ["SHIPPED", "DELIVERED", "CANCELLED"]});

impl From<NewStatus> for OrderStatus {
    fn from(NewStatus(status): NewStatus) -> Self {
        status
    }
}

impl FromStr for NewStatus {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "SHIPPED" => Ok(Self(OrderStatus::Shipped)),
            "DELIVERED" => Ok(Self(OrderStatus::Delivered)),
            "CANCELLED" => Ok(Self(OrderStatus::Cancelled)),
            _ => Err("must be SHIPPED, DELIVERED or CANCELLED"),
        }
    }
}

impl<'de> Deserialize<'de> for NewStatus {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(input)?.parse().map_err(D::Error::custom)
    }
}

/// Returns whether an order with this status can get the other status.
fn can_become(status: OrderStatus, next: OrderStatus) -> bool {
    use OrderStatus::{Cancelled, Delivered, Placed, Shipped};
    matches!((status, next), (Placed, Shipped | Cancelled) | (Shipped, Delivered))
}

impl Order {
    /// Order id.
    pub fn id(&self) -> &OrderId {
        &self.sort.0
    }

    /// Returns the last status change of the purchased items, which follow the order.
    pub(crate) fn move_of_items(&self) -> Option<Move> {
        match self.status {
            OrderStatus::Placed => None,
            OrderStatus::Shipped | OrderStatus::Delivered => Some(Move::Shipped),
            OrderStatus::Cancelled => Some(Move::Cancelled),
        }
    }

    /// Returns the order with a new status.
    ///
    /// # Errors
    /// 409 if the status does not allow the change.
    pub(crate) fn with_status(
        &self,
        status: OrderStatus,
        changed_by: ChangedBy,
        now: TimestampMillis,
    ) -> Result<Self, Error> {
        if !can_become(self.status, status) {
            let detail = "An order can be shipped or cancelled once, and then delivered if it was shipped.";
            return Err(Error::Conflict(Problem::OrderStatus, detail.to_owned()));
        }
        let status_changed_at = now.max(self.status_changed_at);
        let by_status = OrdersPartition { status, ..self.by_status };
        Ok(Self { by_status, status, status_changed_at, changed_by, version: self.version + 1, ..self.clone() })
    }
}

impl Line {
    /// Creates the line of a cart item at the current name and price of its product.
    pub(crate) fn of(cart_item: &CartItem, name: ProductName, price: Money) -> Self {
        Self {
            item: cart_item.id(),
            sku: cart_item.sku.clone(),
            name,
            quantity: cart_item.quantity,
            price,
            cart_price: (cart_item.price != price).then_some(cart_item.price),
            added_at: cart_item.added_at,
            since: cart_item.sort.since,
            version: cart_item.version,
        }
    }

    pub(crate) fn item(&self) -> ItemId {
        self.item
    }

    pub(crate) fn since(&self) -> TimestampMillis {
        self.since
    }

    /// Price of all pieces. `None` if it has more than 38 digits.
    pub(crate) fn total(&self) -> Option<Money> {
        Money::of_minor(self.price.minor().checked_mul(u32::from(self.quantity).into())?, self.price.currency())
    }

    /// Returns the cart item in the cart, with the name in the order.
    fn active(&self, account: &AccountId) -> CartItem {
        let sort = CartItemSort { status: Status::Active, since: self.since, item: self.item };
        CartItem {
            account: account.clone(),
            sort,
            index_partition: Some(self.sku.clone()),
            index_sort: Some(sort),
            sku: self.sku.clone(),
            quantity: self.quantity,
            name: self.name.clone(),
            price: self.cart_price.unwrap_or(self.price),
            added_at: self.added_at,
            order_id: None,
            version: self.version,
            previous: None,
            joined_to: None,
            expires_at: None,
        }
    }

    /// Returns the purchased cart item.
    pub(crate) fn purchased(&self, order: &Order) -> CartItem {
        let to = Move::Purchased(order.id().clone(), self.price);
        self.active(&order.account).moved(&to, order.placed_at, Days::WEEK)
    }

    /// Returns the stored cart item before the last status change of its order, and after it.
    fn last_move(&self, order: &Order) -> (CartItem, CartItem) {
        let purchased = self.purchased(order);
        let Some(to) = order.move_of_items() else { return (self.active(&order.account), purchased) };
        let moved = purchased.moved(&to, order.status_changed_at, Days::WEEK);
        (purchased, moved)
    }
}

impl Cart {
    /// Reads an order with strong consistency.
    pub(crate) async fn order(&self, account: &AccountId, order: &OrderId) -> Result<Order, Error> {
        let order = self.table.get(&Key::new(account, &OrderSort(order.clone()))).await?;
        order.ok_or(Error::NotFound("order"))
    }

    /// Reads an order and its lines with strong consistency.
    pub(crate) async fn order_with_lines(
        &self,
        account: &AccountId,
        order: &OrderId,
    ) -> Result<(Order, Vec<Line>), Error> {
        let lines_key = Key::new(account, &LinesSort(order.clone()));
        let lines = self.table.get::<OrderLines>(&lines_key);
        let (order, lines) = Box::pin(join(self.order(account, order), lines)).await;
        Ok((order?, readable(lines_key, lines?)?))
    }

    /// Reads an order and its lines for a response. The lines never change.
    pub(crate) async fn look_up_order(
        &self,
        account: &AccountId,
        order: &OrderId,
    ) -> Result<(Order, Vec<Line>), Error> {
        let order_key = Key::new(account, &OrderSort(order.clone()));
        let lines_key = Key::new(account, &LinesSort(order.clone()));
        let reads = join(self.table.look_up(&order_key), self.table.look_up::<OrderLines>(&lines_key));
        let (order, lines) = Box::pin(reads).await;
        Ok((order?.ok_or(Error::NotFound("order"))?, readable(lines_key, lines?)?))
    }

    /// Reads the lines of an order with strong consistency.
    pub(crate) async fn lines(&self, account: &AccountId, order: &OrderId) -> Result<Vec<Line>, Error> {
        let key = Key::new(account, &LinesSort(order.clone()));
        let lines = self.table.get::<OrderLines>(&key).await?;
        readable(key, lines)
    }

    /// Returns the changes that move the cart items of these lines to the status of their order.
    /// They need no versions, because nothing else changes an item that is in an order.
    pub(crate) fn moving(&self, order: &Order, lines: &[Line]) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::with_capacity(3 * lines.len());
        for line in lines {
            let (old, new) = line.last_move(order);
            changes.push(self.table.delete(old.key()));
            changes.extend(self.arrival(&new)?);
        }
        Ok(changes)
    }

    /// Moves the cart items of these lines to the status of their order, in one transaction. If it
    /// was executed before, or an item was changed by hand, moves the remaining items one by one.
    ///
    /// # Errors
    /// [`Error::stale`] if another run has ended the move.
    pub(crate) async fn move_lines(&self, order: &Order, lines: &[Line]) -> Result<(), Error> {
        let guard = self.still_moving(order)?;
        let guarded = |changes: Vec<Change>| [guard.clone()].into_iter().chain(changes).collect();
        match self.dynamo.transact(guarded(self.moving(order, lines)?)).await {
            Err(table::Error::Refused(refused)) if refused.at(0) => return Err(Error::stale()),
            Err(table::Error::Refused(_)) => {}
            moved => return Ok(moved?),
        }
        let moves: Vec<_> = lines.iter().map(|line| line.last_move(order)).collect();
        let keys: Vec<Key> = moves.iter().flat_map(|(old, new)| [old.key(), new.key()]).collect();
        let found = self.table.get_all::<CartItem>(&keys, true).await?;
        let is_stored = |key: &Key| found.items.contains_key(key) || found.unreadable.contains(key);
        for (old, new) in moves.iter().filter(|(_, new)| !is_stored(&new.key())) {
            let mut changes = self.arrival(new)?;
            changes.extend(is_stored(&old.key()).then(|| self.table.delete(old.key())));
            self.dynamo.transact(guarded(changes)).await?;
        }
        Ok(())
    }

    /// Returns the check that no other run has ended the move since the order was read. Otherwise,
    /// a run that was frozen could put items that have moved on.
    fn still_moving(&self, order: &Order) -> Result<Change, Error> {
        let key = Key::new(&order.account, &order.sort);
        let check = self.table.check(key, Condition::is(Order::VERSION, order.version));
        Ok(check.only_if(Condition::is(Order::MOVING, Value::of(&true)?)))
    }

    /// Records that all cart items of the order were moved.
    pub(crate) async fn end_move(&self, order: &Order) -> Result<(), Error> {
        let ended = || {
            let update = self.table.update(Key::new(&order.account, &order.sort)).remove(Order::MOVING);
            update.only_if(Condition::is(Order::VERSION, order.version))
        };
        if order.status == OrderStatus::Placed {
            match self.dynamo.transact(vec![ended(), self.moved(&order.account, order.id())]).await {
                // An operator has deleted the contents of the cart.
                Err(table::Error::Refused(refused)) if !refused.at(0) => {}
                Err(table::Error::Refused(_)) => return Ok(()),
                done => return Ok(done?),
            }
        }
        match self.dynamo.write(ended()).await {
            // Another run has ended the move, and the order has changed since.
            Err(table::Error::Refused(_)) => Ok(()),
            done => Ok(done?),
        }
    }
}

/// Returns the lines of an order. Every order has lines.
fn readable(key: Key, lines: Option<OrderLines>) -> Result<Vec<Line>, Error> {
    let lines = lines.map(|lines| lines.lines).filter(|lines| !lines.is_empty());
    let unreadable = || table::Error::unreadable_part(OrderLines::TYPE, key, &"the order has no lines").into();
    lines.ok_or_else(unreadable)
}

/// An order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderBody {
    order_id: OrderId,
    account_id: AccountId,
    status: OrderStatus,
    total: Decimal,
    currency: Currency,
    placed_at: TimestampMillis,
    status_changed_at: TimestampMillis,
    /// The caller who made the last status change, or placed the order. Only operators see it, and
    /// the list by status omits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<ChangedBy>,
    /// The lines. Lists of orders and changes of their status omit them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    items: Option<Vec<OrderLineBody>>,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(with = "function::Skipped")]
    skipped: usize,
}

/// A line of an order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OrderLineBody {
    item_id: ItemId,
    sku: Sku,
    name: ProductName,
    quantity: Quantity,
    price: Decimal,
}

impl From<Order> for OrderBody {
    fn from(order: Order) -> Self {
        Self {
            order_id: order.sort.0,
            account_id: order.account,
            status: order.status,
            total: order.total.amount(),
            currency: order.total.currency(),
            placed_at: order.placed_at,
            status_changed_at: order.status_changed_at,
            changed_by: None,
            items: None,
            skipped: 0,
        }
    }
}

impl From<OrderEntry> for OrderBody {
    fn from(entry: OrderEntry) -> Self {
        Self {
            order_id: entry.placed.order,
            account_id: entry.account,
            status: entry.by_status.status,
            total: entry.total.amount(),
            currency: entry.total.currency(),
            placed_at: entry.placed.at,
            status_changed_at: entry.status_changed_at,
            changed_by: None,
            items: None,
            skipped: 0,
        }
    }
}

impl OrderBody {
    /// The order with its author, if the caller may see it.
    pub(crate) fn of(order: Order, caller: &Caller) -> Self {
        let changed_by = order.changed_by.clone().seen_by(caller, DOMAIN);
        Self { changed_by, ..Self::from(order) }
    }

    /// Adds the lines, and the number of cart items that the checkout could not read.
    pub(crate) fn with(self, lines: Vec<Line>, skipped: usize) -> Self {
        Self { items: Some(lines.into_iter().map(OrderLineBody::from).collect()), skipped, ..self }
    }
}

impl From<Line> for OrderLineBody {
    fn from(Line { item, sku, name, quantity, price, .. }: Line) -> Self {
        Self { item_id: item, sku, name, quantity, price: price.amount() }
    }
}
