//! Model of one account's cart. Helpers send requests at a given time, and read the table.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may panic")]

use super::MAX_ITEMS;
use crate::{Asks, Client, cart::product, random};
use aws_sdk_dynamodb::types::AttributeValue;
use cart::{CartItem, CartItemBody, Order, OrderLines, OrderStatus, Previous, Product, Quantity};
use futures::future::join_all;
use jiff::SignedDuration;
use keys::{
    AccountId, IdempotencySort, OrderId, Sku, TimestampMillis,
    cart::{CartItemSort, ItemId, ItemSort, Status},
};
use local::Stack;
use money::{Currency, Money};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};
use table::Item;

/// Parameter `CartDays`. A cart item expires this number of days after its last change, or up to
/// one day later.
const DAYS: i64 = 30;
const WEEK: i64 = 7;

/// Request to the cart of one account.
#[derive(Debug, Clone)]
pub enum Operation {
    /// C1: adds a product.
    Add {
        /// Product.
        sku: Sku,
        /// Quantity to add.
        quantity: u32,
        /// Idempotency key.
        key: Option<String>,
    },
    /// C2: changes a cart item.
    Change {
        /// Item id.
        item: ItemId,
        /// New quantity.
        quantity: Option<u32>,
        /// New status: ACTIVE or SAVED.
        status: Option<Status>,
    },
    /// C3: removes a cart item.
    Remove {
        /// Item id.
        item: ItemId,
    },
    /// C4: buys the cart.
    CheckOut {
        /// Idempotency key.
        key: Option<String>,
    },
    /// C12: changes the status of an order.
    SetStatus {
        /// Order id.
        order: OrderId,
        /// New status.
        status: OrderStatus,
    },
    /// C8: reads a cart item.
    Look {
        /// Item id.
        item: ItemId,
    },
}

impl Operation {
    /// Adds a quantity of the product `S-<sku>`, without an idempotency key.
    #[must_use]
    pub fn add(sku: usize, quantity: u32) -> Self {
        Self::Add { sku: format!("S-{sku}").parse().expect("a product"), quantity, key: None }
    }

    /// Changes the quantity only.
    #[must_use]
    pub fn count(item: ItemId, quantity: u32) -> Self {
        Self::Change { item, quantity: Some(quantity), status: None }
    }

    /// Changes the status only.
    #[must_use]
    pub fn bring(item: ItemId, status: Status) -> Self {
        Self::Change { item, quantity: None, status: Some(status) }
    }

    /// Buys the cart without an idempotency key.
    #[must_use]
    pub fn check_out() -> Self {
        Self::CheckOut { key: None }
    }

    /// Sets the idempotency key, if the operation can have one.
    #[must_use]
    pub fn under(mut self, name: &str) -> Self {
        if let Self::Add { key, .. } | Self::CheckOut { key } = &mut self {
            *key = Some(name.to_owned());
        }
        self
    }

    /// Name of the operation's function.
    #[must_use]
    pub fn function(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add-cart-item",
            Self::Change { .. } => "update-cart-item",
            Self::Remove { .. } => "remove-cart-item",
            Self::CheckOut { .. } => "checkout-cart",
            Self::SetStatus { .. } => "update-order",
            Self::Look { .. } => "get-cart-item",
        }
    }

    fn item(&self) -> Option<ItemId> {
        match self {
            Self::Change { item, .. } | Self::Remove { item } | Self::Look { item } => Some(*item),
            _ => None,
        }
    }

    /// Idempotency key.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Add { key, .. } | Self::CheckOut { key } => key.as_deref(),
            _ => None,
        }
    }

    fn body(&self) -> Option<Value> {
        let mut body = match self {
            Self::Add { sku, quantity, .. } => json!({"sku": sku, "quantity": quantity}),
            Self::Change { quantity, status, .. } => json!({"quantity": quantity, "status": status}),
            Self::SetStatus { status, .. } => json!({"status": status}),
            _ => return None,
        };
        body.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
        Some(body)
    }

    /// Returns the API Gateway event of the request at the time `now`.
    #[must_use]
    pub fn event(&self, account: &AccountId, now: TimestampMillis) -> Value {
        let (method, rest) = match self {
            Self::Add { .. } => ("POST", "/items"),
            Self::CheckOut { .. } => ("POST", "/checkout"),
            Self::Change { .. } => ("PATCH", "/items/{itemId}"),
            Self::Remove { .. } => ("DELETE", "/items/{itemId}"),
            Self::Look { .. } => ("GET", "/items/{itemId}"),
            Self::SetStatus { .. } => ("PATCH", "/orders/{orderId}"),
        };
        let item = self.item().map(|item| item.to_string());
        let route = format!("{method} /cart/accounts/{{accountId}}{rest}");
        let rest = item.as_deref().map_or(rest.to_owned(), |item| rest.replace("{itemId}", item));
        let order = if let Self::SetStatus { order, .. } = self { Some(order.to_string()) } else { None };
        let rest = order.as_deref().map_or(rest.clone(), |order| rest.replace("{orderId}", order));
        let path = format!("/cart/accounts/{account}{rest}");
        let mut parameters = json!({"accountId": account});
        if let Some(item) = item {
            parameters["itemId"] = item.into();
        }
        if let Some(order) = order {
            parameters["orderId"] = order.into();
        }
        let body = self.body();
        Asks { route: &route, path: &path, parameters, key: self.key(), body: body.as_ref() }.at(now.instant())
    }
}

impl Operation {
    /// Sends the request at the time `now`.
    pub async fn ask(self, stack: &Stack, account: &AccountId, now: TimestampMillis) -> Asked {
        let answer = Client::operator(stack).invoke(self.function(), &self.event(account, now)).await;
        // A function that was killed has no response.
        let reply = answer.body.get("statusCode").and_then(|_| Reply::read(&answer.body).heard());
        Asked { reply, operation: self, now }
    }
}

/// Response of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u64,
    /// Body, or null if the response has no body.
    pub body: Value,
}

impl Reply {
    /// Parses the response that the function returned to API Gateway.
    #[must_use]
    pub fn read(answer: &Value) -> Self {
        let body = answer["body"].as_str().filter(|body| !body.is_empty());
        let body = body.map_or(Value::Null, |body| serde_json::from_str(body).expect("JSON"));
        Self { status: answer["statusCode"].as_u64().expect("a status"), body }
    }

    /// Returns `None` for the statuses 429 and 503, because it is unknown whether the request took
    /// effect.
    #[must_use]
    pub fn heard(self) -> Option<Self> {
        Some(self).filter(|reply| !matches!(reply.status, 429 | 503))
    }

    /// Status and problem type, such as `409 cart-full`. For a success, only the status.
    #[must_use]
    pub fn kind(&self) -> String {
        let kind = self.body["type"].as_str().and_then(|kind| kind.strip_prefix("/problems/"));
        kind.map_or_else(|| self.status.to_string(), |kind| format!("{} {kind}", self.status))
    }

    fn cart_item(status: u64, cart_item: &CartItem) -> Self {
        Self { status, body: json!(CartItemBody::from(cart_item.clone())) }
    }

    fn problem(status: u64, kind: &str) -> Self {
        Self { status, body: json!({"type": format!("/problems/{kind}")}) }
    }

    /// Returns whether both responses have the same status, and the same body or problem type.
    fn matches(&self, other: &Self) -> bool {
        let same = if self.status < 300 { self.body == other.body } else { self.body["type"] == other.body["type"] };
        self.status == other.status && same
    }
}

/// Outcome of a request, as stored in its idempotency record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Outcome of an addition.
    Added {
        /// Whether the addition created the cart item.
        created: bool,
        /// The cart item in the response.
        cart_item: Box<CartItem>,
    },
    /// Outcome of a checkout.
    CheckedOut {
        /// Order id.
        order: OrderId,
    },
    /// Outcome of a merge.
    MergeResult {
        /// Number of merged items.
        merged: usize,
    },
}

/// Idempotency record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Record {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: IdempotencySort,
    request: String,
    #[serde(with = "json_text")]
    outcome: Outcome,
    expires_at: i64,
}

mod json_text {
    use super::Outcome;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _, ser::Error as _};

    pub(super) fn serialize<S: Serializer>(outcome: &Outcome, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&serde_json::to_string(outcome).map_err(S::Error::custom)?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Outcome, D::Error> {
        serde_json::from_str(&String::deserialize(input)?).map_err(D::Error::custom)
    }
}

impl Item for Record {
    const TYPE: &'static str = "IdempotencyRecord";
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Pointer {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: ItemSort,
    cart_item: CartItemSort,
    expires_at: Option<i64>,
}

/// Cart items and idempotency records of one account. The cart items include `REMOVED` and `JOINED`
/// items.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Cart items in no particular order.
    pub cart_items: Vec<CartItem>,
    /// Request and outcome by idempotency key. The table contains only a fingerprint of the
    /// request.
    pub outcomes: BTreeMap<String, (String, Outcome)>,
    /// Expected sum of the quantities of all cart items, except `JOINED` items.
    pub balance: i64,
    /// Orders as responses show them.
    pub orders: BTreeMap<OrderId, Value>,
    /// Products. Any other product is that of [`product`].
    pub catalog: BTreeMap<Sku, Product>,
}

/// Request with its response. `reply` is `None` if the outcome is unknown.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The request.
    pub operation: Operation,
    /// Time of the request.
    pub now: TimestampMillis,
    /// The response, if known.
    pub reply: Option<Reply>,
}

/// Returns the time `days` days after `now`, in Unix seconds.
fn after(now: TimestampMillis, days: i64) -> i64 {
    now.instant().as_second() + days * 86_400
}

fn number(quantity: Quantity) -> i64 {
    i64::from(u32::from(quantity))
}

fn quantity(number: u32) -> Quantity {
    Quantity::try_from(number).expect("a quantity")
}

type Done = Result<CartItem, Reply>;

impl Account {
    /// Applies the operation to the model and returns the expected response. The ids of new items
    /// and orders are taken from the actual response.
    pub fn apply(
        &mut self,
        account: &AccountId,
        operation: &Operation,
        now: TimestampMillis,
        told: Option<&Reply>,
    ) -> Reply {
        let told = told.map_or(&Value::Null, |reply| &reply.body);
        if let Some(reply) = operation.key().and_then(|key| self.replay(key, operation)) {
            return reply;
        }
        let done = match operation {
            Operation::Add { sku, quantity: more, .. } => {
                return self.add(account, (sku, quantity(*more)), operation, now, told);
            }
            Operation::CheckOut { .. } => return self.check_out(account, operation, now, told),
            Operation::SetStatus { order, status } => return self.set_status(order, *status, now),
            Operation::Look { item } => {
                let found = self.look(*item, now).map(|index| self.marked(&self.cart_items[index]));
                return found.unwrap_or_else(|reply| reply);
            }
            Operation::Change { item, quantity: wanted, status } => {
                self.change(*item, wanted.map(quantity), *status, now)
            }
            Operation::Remove { item } => {
                let found = self.look(*item, now);
                let moved = found.and_then(|index| self.moved(index, Status::Removed, now));
                return moved.map_or_else(|reply| reply, |_| Reply { status: 204, body: Value::Null });
            }
        };
        done.map_or_else(|reply| reply, |cart_item| Reply::cart_item(200, &cart_item))
    }

    fn replay(&self, key: &str, operation: &Operation) -> Option<Reply> {
        let (request, outcome) = self.outcomes.get(key)?;
        if *request != format!("{operation:?}") {
            return Some(Reply::problem(422, "idempotency-key-reused"));
        }
        Some(match outcome {
            Outcome::Added { created, cart_item } => Reply::cart_item(if *created { 201 } else { 200 }, cart_item),
            Outcome::MergeResult { merged } => Reply { status: 200, body: json!({"merged": merged, "skipped": 0}) },
            Outcome::CheckedOut { order } => {
                let mut body = self.orders[order].clone();
                body["status"] = json!("PLACED");
                body["statusChangedAt"] = body["placedAt"].clone();
                Reply { status: 200, body }
            }
        })
    }

    /// Returns the response to a checkout, from the purchased cart items.
    fn order(&self, account: &AccountId, order: &OrderId, at: TimestampMillis) -> Value {
        let bought = |cart_item: &&CartItem| cart_item.order_id.as_ref() == Some(order);
        let mut cart_items: Vec<_> = self.cart_items.iter().filter(bought).collect();
        cart_items.sort_by_key(|cart_item| Reverse(cart_item.sort));
        let total = |cart_item: &&CartItem| cart_item.price.minor() * i128::from(u32::from(cart_item.quantity));
        let total =
            Money::of_minor(cart_items.iter().map(total).sum(), cart_items[0].price.currency()).expect("a total");
        let item = |cart_item: &&CartItem| {
            json!({"itemId": cart_item.id(), "sku": cart_item.sku, "name": cart_item.name,
                "quantity": cart_item.quantity, "price": cart_item.price.amount()})
        };
        json!({
            "orderId": order, "accountId": account, "status": "PLACED", "total": total.amount(),
            "currency": total.currency(), "placedAt": at, "statusChangedAt": at,
            "items": cart_items.iter().map(item).collect::<Vec<_>>(),
        })
    }

    /// Returns the response to a read of the item, with the marks of its product.
    fn marked(&self, cart_item: &CartItem) -> Reply {
        let mut reply = Reply::cart_item(200, cart_item);
        let product = self.product(&cart_item.sku);
        match () {
            () if !cart_item.is_open() => {}
            () if !product.active => reply.body["unavailable"] = json!(true),
            () if product.price != cart_item.price => reply.body["priceChanged"] = json!(true),
            () => {}
        }
        reply
    }

    fn product(&self, sku: &Sku) -> Product {
        self.catalog.get(sku).cloned().unwrap_or_else(|| product(sku.as_str()))
    }

    /// Returns whether the cart has an item of another product in another currency.
    fn has_other_currency(&self, sku: &Sku, currency: Currency, now: TimestampMillis) -> bool {
        let active = self.listed(Status::Active, now).into_iter();
        active.filter(|other| other.sku != *sku).any(|other| other.price.currency() != currency)
    }

    fn set_status(&mut self, order: &OrderId, status: OrderStatus, now: TimestampMillis) -> Reply {
        let Some(mut body) = self.orders.get(order).cloned() else { return Reply::problem(404, "not-found") };
        let without_lines = |mut body: Value| {
            body.as_object_mut().expect("an object").remove("items");
            Reply { status: 200, body }
        };
        if body["status"] == json!(status) {
            return without_lines(body);
        }
        let of_items = match (body["status"].as_str().expect("a status"), status) {
            ("PLACED", OrderStatus::Shipped) => Some(Status::Shipped),
            ("PLACED", OrderStatus::Cancelled) => Some(Status::Cancelled),
            ("SHIPPED", OrderStatus::Delivered) => None,
            _ => return Reply::problem(409, "order-status"),
        };
        let changed = id::<TimestampMillis>(&body["statusChangedAt"]).expect("a time").max(now);
        body["status"] = json!(status);
        body["statusChangedAt"] = json!(changed);
        self.orders.insert(order.clone(), body.clone());
        let of_order = |item: &CartItem| item.order_id.as_ref() == Some(order);
        let indexes: Vec<_> = (0..self.cart_items.len()).filter(|index| of_order(&self.cart_items[*index])).collect();
        for index in indexes.into_iter().filter(|_| of_items.is_some()) {
            self.bring(index, of_items.expect("a status"), changed);
        }
        without_lines(body)
    }

    fn remember(&mut self, operation: &Operation, outcome: Outcome) {
        if let Some(key) = operation.key() {
            self.outcomes.insert(key.to_owned(), (format!("{operation:?}"), outcome));
        }
    }

    /// Returns the unexpired cart items with the status, newest first.
    #[must_use]
    pub fn listed(&self, status: Status, now: TimestampMillis) -> Vec<&CartItem> {
        let mut cart_items: Vec<_> = self
            .cart_items
            .iter()
            .filter(|cart_item| cart_item.sort.status == status && cart_item.is_live(now))
            .collect();
        cart_items.sort_by_key(|cart_item| Reverse(cart_item.sort));
        cart_items
    }

    fn active(&self, sku: &Sku, now: TimestampMillis) -> Option<usize> {
        let is = |cart_item: &CartItem| {
            cart_item.sort.status == Status::Active && cart_item.sku == *sku && cart_item.is_live(now)
        };
        self.cart_items.iter().position(is)
    }

    fn look(&self, item: ItemId, now: TimestampMillis) -> Result<usize, Reply> {
        let seen = |cart_item: &CartItem| {
            cart_item.id() == item && cart_item.sort.status.is_listed() && cart_item.is_live(now)
        };
        self.cart_items.iter().position(seen).ok_or_else(|| Reply::problem(404, "not-found"))
    }

    fn add(
        &mut self,
        account: &AccountId,
        (sku, more): (&Sku, Quantity),
        operation: &Operation,
        now: TimestampMillis,
        told: &Value,
    ) -> Reply {
        let product = self.product(sku);
        if !product.active {
            return Reply::problem(409, "product-unavailable");
        }
        let other_currency = self.has_other_currency(sku, product.price.currency(), now);
        let there = self.active(sku, now);
        let index = match there {
            Some(index) if self.cart_items[index].quantity.plus(more).is_some() && other_currency => {
                return Reply::problem(409, "cart-currency");
            }
            Some(index) => match self.grown(index, more, now) {
                Ok(index) => index,
                Err(reply) => return reply,
            },
            None if self.listed(Status::Active, now).len() >= MAX_ITEMS => return Reply::problem(409, "cart-full"),
            None if other_currency => return Reply::problem(409, "cart-currency"),
            None => {
                let item = id(&told["itemId"]).unwrap_or_else(|| ItemId::new(now.instant(), &random()));
                let sort = CartItemSort { status: Status::Active, since: now, item };
                let product = product.clone();
                self.balance += number(more);
                self.cart_items.push(CartItem {
                    account: account.clone(),
                    sort,
                    index_partition: Some(sku.clone()),
                    index_sort: Some(sort),
                    sku: sku.clone(),
                    quantity: more,
                    name: product.name,
                    price: product.price,
                    added_at: now,
                    order_id: None,
                    version: 1,
                    previous: None,
                    joined_to: None,
                    expires_at: Some(after(now, DAYS + 1)),
                });
                self.cart_items.len() - 1
            }
        };
        (self.cart_items[index].name, self.cart_items[index].price) = (product.name, product.price);
        let (created, cart_item) = (there.is_none(), self.cart_items[index].clone());
        let reply = Reply::cart_item(if created { 201 } else { 200 }, &cart_item);
        self.remember(operation, Outcome::Added { created, cart_item: cart_item.into() });
        reply
    }

    /// Increases the quantity of the item.
    fn grown(&mut self, index: usize, more: Quantity, now: TimestampMillis) -> Result<usize, Reply> {
        let sum = self.cart_items[index].quantity.plus(more).ok_or_else(|| Reply::problem(409, "quantity-limit"))?;
        self.counted(index, sum, now);
        Ok(index)
    }

    fn counted(&mut self, index: usize, quantity: Quantity, now: TimestampMillis) {
        let cart_item = &mut self.cart_items[index];
        self.balance += number(quantity) - number(cart_item.quantity);
        cart_item.quantity = quantity;
        cart_item.version += 1;
        cart_item.expires_at =
            cart_item.expires_at.map(|at| if at >= after(now, DAYS) { at } else { after(now, DAYS + 1) });
    }

    fn moved(&mut self, index: usize, status: Status, now: TimestampMillis) -> Result<usize, Reply> {
        if !self.cart_items[index].is_open() {
            return Err(Reply::problem(409, "purchased"));
        }
        self.bring(index, status, now);
        Ok(index)
    }

    fn bring(&mut self, index: usize, status: Status, now: TimestampMillis) {
        let old = &mut self.cart_items[index];
        let (status_before, since, quantity) = (old.sort.status, old.sort.since, old.quantity);
        old.previous = Some(Previous { status: status_before, since, quantity, price: None });
        old.sort = CartItemSort { status, since: old.sort.since.max(now), item: old.id() };
        old.index_partition = status.is_listed().then(|| old.sku.clone());
        old.index_sort = status.is_listed().then_some(old.sort);
        old.version += 1;
        old.expires_at = match status {
            Status::Active => Some(after(now, DAYS + 1)),
            Status::Saved | Status::Purchased | Status::Shipped | Status::Cancelled => None,
            Status::Removed | Status::Joined => Some(after(now, WEEK)),
        };
    }

    fn change(&mut self, item: ItemId, wanted: Option<Quantity>, to: Option<Status>, now: TimestampMillis) -> Done {
        let index = match self.look(item, now) {
            Err(missing) if to == Some(Status::Active) => {
                // If the requested item was merged into another item, a repeated request returns
                // the other item while it is in the cart.
                let is_same = |cart_item: &&CartItem| {
                    cart_item.id() == item
                        && cart_item.is_live(now)
                        && wanted.is_none_or(|quantity| quantity == cart_item.quantity)
                };
                let same = self.cart_items.iter().find(is_same);
                let Some(joined) = same.and_then(|cart_item| cart_item.joined_to) else { return Err(missing) };
                let there = &self.cart_items[self.look(joined, now)?];
                return if there.sort.status == Status::Active { Ok(there.clone()) } else { Err(missing) };
            }
            found => found?,
        };
        let old = self.cart_items[index].clone();
        match to {
            Some(status) if status != old.sort.status => {
                if !old.is_open() {
                    return Err(Reply::problem(409, "purchased"));
                }
                let more = wanted.unwrap_or(old.quantity);
                if status == Status::Active {
                    if let Some(there) = self.active(&old.sku, now) {
                        self.grown(there, more, now)?;
                        self.moved(index, Status::Joined, now)?;
                        self.cart_items[index].quantity = more;
                        self.cart_items[index].joined_to = Some(self.cart_items[there].id());
                        // The other item now includes the quantity.
                        self.balance -= number(old.quantity);
                        return Ok(self.cart_items[there].clone());
                    }
                    if self.listed(Status::Active, now).len() >= MAX_ITEMS {
                        return Err(Reply::problem(409, "cart-full"));
                    }
                    if self.has_other_currency(&old.sku, old.price.currency(), now) {
                        return Err(Reply::problem(409, "cart-currency"));
                    }
                }
                self.moved(index, status, now)?;
                self.balance += number(more) - number(old.quantity);
                self.cart_items[index].quantity = more;
            }
            _ => {
                if let Some(wanted) = wanted.filter(|wanted| *wanted != old.quantity) {
                    if !old.is_open() {
                        return Err(Reply::problem(409, "purchased"));
                    }
                    self.counted(index, wanted, now);
                }
            }
        }
        Ok(self.cart_items[index].clone())
    }

    fn check_out(&mut self, account: &AccountId, operation: &Operation, now: TimestampMillis, told: &Value) -> Reply {
        let is_in = |cart_item: &CartItem| cart_item.sort.status == Status::Active && cart_item.is_live(now);
        let indexes: Vec<usize> = (0..self.cart_items.len()).filter(|index| is_in(&self.cart_items[*index])).collect();
        let Some(latest) = indexes.iter().map(|index| self.cart_items[*index].sort.since).max() else {
            return Reply::problem(409, "cart-empty");
        };
        let products: Vec<_> = indexes.iter().map(|index| self.product(&self.cart_items[*index].sku)).collect();
        if products.iter().any(|product| !product.active) {
            return Reply::problem(409, "product-unavailable");
        }
        if products.iter().any(|product| product.price.currency() != products[0].price.currency()) {
            return Reply::problem(409, "cart-currency");
        }
        let last = self.orders.values().filter_map(|order| id::<TimestampMillis>(&order["placedAt"])).max();
        let after = |last: TimestampMillis| {
            TimestampMillis::containing(last.instant() + SignedDuration::from_millis(1)).expect("a time")
        };
        let at = latest.max(now).max(last.map_or(now, after));
        let order = id(&told["orderId"]).unwrap_or_else(|| OrderId::new(now.instant(), &random()));
        for (index, product) in indexes.into_iter().zip(products) {
            self.moved(index, Status::Purchased, at).expect("an active cart item");
            let bought = &mut self.cart_items[index];
            if let Some(previous) = &mut bought.previous {
                previous.price = (bought.price != product.price).then_some(bought.price);
            }
            (bought.name, bought.price, bought.order_id) = (product.name, product.price, Some(order.clone()));
        }
        let body = self.order(account, &order, at);
        self.orders.insert(order.clone(), body.clone());
        self.remember(operation, Outcome::CheckedOut { order });
        Reply { status: 200, body }
    }

    /// Searches for an order of the concurrent requests in which the model produces every response
    /// and the stored items. Returns the resulting account, or `None` if no order explains them. A
    /// request with an unknown outcome may or may not have taken effect.
    #[must_use]
    pub fn explain(&self, account: &AccountId, asked: &[Asked], stored: &Self) -> Option<Self> {
        let asked = asked.iter().map(|asked| {
            let replies = asked.reply.as_ref().map_or_else(
                || self.new_in(stored, &asked.operation).into_iter().map(|body| Reply { status: 0, body }).collect(),
                |reply| vec![reply.clone()],
            );
            (asked, replies)
        });
        self.in_some_order(account, &asked.collect::<Vec<_>>(), stored)
    }

    /// Returns the possible bodies of an unknown response: one for each id that is new in the
    /// table, and one without an id.
    fn new_in(&self, stored: &Self, operation: &Operation) -> Vec<Value> {
        let new = |cart_item: &&CartItem| self.cart_items.iter().all(|known| known.sort.item != cart_item.sort.item);
        let bought = |cart_item: &&CartItem| self.cart_items.iter().all(|known| known.order_id != cart_item.order_id);
        let mut told: BTreeSet<String> = BTreeSet::new();
        match operation {
            Operation::Add { sku, .. } => {
                let cart_items = stored.cart_items.iter().filter(new).filter(|cart_item| cart_item.sku == *sku);
                told.extend(cart_items.map(|cart_item| json!({"itemId": cart_item.id()}).to_string()));
            }
            _ => told.extend(
                stored
                    .cart_items
                    .iter()
                    .filter(bought)
                    .map(|cart_item| json!({"orderId": cart_item.order_id}).to_string()),
            ),
        }
        let told = told.iter().map(|told| serde_json::from_str(told).expect("JSON"));
        told.chain([Value::Null]).collect()
    }

    fn in_some_order(&self, account: &AccountId, asked: &[(&Asked, Vec<Reply>)], stored: &Self) -> Option<Self> {
        if asked.is_empty() {
            return self.equals(stored).then(|| self.clone());
        }
        (0..asked.len()).find_map(|next| {
            let mut rest = asked.to_vec();
            let (Asked { operation, now, reply }, replies) = rest.remove(next);
            let done = replies.iter().find_map(|told| {
                let mut after = self.clone();
                let answer = after.apply(account, operation, *now, Some(told));
                let explained = reply.is_none() || told.matches(&answer);
                if explained { after.in_some_order(account, &rest, stored) } else { None }
            });
            done.or_else(|| if reply.is_none() { self.in_some_order(account, &rest, stored) } else { None })
        })
    }

    fn equals(&self, stored: &Self) -> bool {
        let sorted = |account: &Self| {
            account.cart_items.iter().map(|cart_item| (cart_item.id(), cart_item.clone())).collect::<BTreeMap<_, _>>()
        };
        let outcomes = |account: &Self| {
            let outcomes = account.outcomes.iter().map(|(key, (_, outcome))| (key.clone(), outcome.clone()));
            outcomes.collect::<BTreeMap<_, _>>()
        };
        sorted(self) == sorted(stored) && outcomes(self) == outcomes(stored) && self.orders == stored.orders
    }

    /// Returns whether the sum of all quantities equals `balance`. Removed items count, and
    /// `JOINED` items do not.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        let counted = self.cart_items.iter().filter(|cart_item| cart_item.sort.status != Status::Joined);
        counted.map(|cart_item| number(cart_item.quantity)).sum::<i64>() == self.balance
    }
}

/// Sends all requests concurrently. Returns the results in the order of the requests.
pub async fn at_once(
    stack: &Stack,
    account: &AccountId,
    operations: impl IntoIterator<Item = Operation>,
    now: TimestampMillis,
) -> Vec<Asked> {
    join_all(operations.into_iter().map(|operation| operation.ask(stack, account, now))).await
}

/// Sends requests for one account, and tracks the expected content of the account.
#[derive(Debug)]
pub struct Shopper<'a> {
    stack: &'a Stack,
    /// Account id.
    pub id: AccountId,
    now: TimestampMillis,
    account: Account,
}

impl<'a> Shopper<'a> {
    /// Creates an account with an empty cart at the time `now`.
    #[must_use]
    pub fn new(stack: &'a Stack, id: AccountId, now: TimestampMillis) -> Self {
        Self { stack, id, now, account: Account::default() }
    }

    /// Expected content.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Item ids, sorted by SKU.
    #[must_use]
    pub fn items(&self) -> Vec<ItemId> {
        let mut cart_items: Vec<_> = self.account.cart_items.iter().collect();
        cart_items.sort_by(|one, other| one.sku.cmp(&other.sku));
        cart_items.into_iter().map(CartItem::id).collect()
    }

    /// Sends all requests concurrently and returns the results. Panics if no order of the requests
    /// explains the results.
    pub async fn run(&mut self, operations: Vec<Operation>) -> Vec<Asked> {
        let asked = at_once(self.stack, &self.id, operations, self.now).await;
        self.learn(&asked).await;
        asked
    }

    /// Updates the expected content. Panics if no order of the requests explains the responses and
    /// the stored items.
    pub async fn learn(&mut self, asked: &[Asked]) {
        let stored = Stored::read_account(self.stack, &self.id).await;
        stored.check(self.now);
        let found = stored.account(&self.id);
        let end = self.account.explain(&self.id, asked, &found);
        assert!(end.is_some(), "{}: no order of {asked:#?}\napplied to {:#?}\ngives {found:#?}", self.id, self.account);
        self.account = end.unwrap_or_default();
        assert!(self.account.is_balanced(), "{}: {:#?}", self.id, self.account);
    }
}

fn id<T: std::str::FromStr>(value: &Value) -> Option<T> {
    value.as_str()?.parse().ok()
}

/// All items of the table `Cart`.
#[derive(Debug)]
pub struct Stored {
    /// Cart items of all accounts.
    pub cart_items: Vec<CartItem>,
    /// Idempotency records.
    pub records: Vec<Record>,
    /// Orders.
    pub orders: Vec<Order>,
    /// Lines of the orders.
    pub lines: Vec<OrderLines>,
    contents: Vec<Contents>,
    pointers: Vec<Pointer>,
}

/// The contents of a cart. All attributes are present, so that their size can be computed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Contents {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: String,
    version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
    items: BTreeMap<Sku, String>,
    moving: BTreeMap<OrderId, TimestampMillis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordered_at: Option<TimestampMillis>,
    expires_at: i64,
}

impl Item for Contents {
    const TYPE: &'static str = "Cart";
}

impl Stored {
    /// Reads the table with strong consistency.
    pub async fn read(stack: &Stack) -> Self {
        let client = stack.client().expect("a client");
        let table = stack.table("Cart").expect("a table");
        let pages = client.scan().table_name(table).consistent_read(true).into_paginator();
        Self::of(pages.items().send().collect::<Result<_, _>>().await.expect("the items"))
    }

    /// Reads the items of one account with strong consistency.
    pub async fn read_account(stack: &Stack, account: &AccountId) -> Self {
        let client = stack.client().expect("a client");
        let query = client.query().table_name(stack.table("Cart").expect("a table")).consistent_read(true);
        let query = query.key_condition_expression("PK = :account");
        let query = query.expression_attribute_values(":account", AttributeValue::S(account.to_string()));
        Self::of(query.into_paginator().items().send().collect::<Result<_, _>>().await.expect("the items"))
    }

    fn of(stored: Vec<Attributes>) -> Self {
        let mut items: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for item in stored {
            items.entry(item["Type"].as_s().expect("a type").clone()).or_default().push(item);
        }
        let mut of = |kind: &str| items.remove(kind).unwrap_or_default();
        let (cart_items, pointers) = (typed(of("CartItem")), typed(of("CartPointer")));
        let (orders, lines) = (typed(of("Order")), typed(of("OrderLines")));
        let (records, contents) = (typed(of("IdempotencyRecord")), typed(of("Cart")));
        let stored = Self { cart_items, records, orders, lines, contents, pointers };
        assert!(items.is_empty(), "items of other types: {items:?}");
        stored
    }

    /// Size of the contents of an account's cart. 0 if the cart has no contents.
    #[must_use]
    pub fn contents_bytes(&self, account: &str) -> usize {
        let contents = self.contents.iter().find(|contents| contents.account.as_str() == account);
        contents.map_or(0, |contents| table::size(contents).expect("a size"))
    }

    /// Returns the idempotency record with the key.
    #[must_use]
    pub fn record(&self, key: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.sort.0.to_string() == key)
    }

    /// Stored content of one account.
    #[must_use]
    pub fn account(&self, account: &AccountId) -> Account {
        let cart_items = self.cart_items.iter().filter(|cart_item| cart_item.account == *account).cloned().collect();
        let records = self.records.iter().filter(|record| record.account == *account);
        let outcome = |record: &Record| (record.sort.0.to_string(), (String::new(), record.outcome.clone()));
        let orders = self.orders.iter().filter(|order| order.account == *account);
        let orders = orders.map(|order| (order.id().clone(), self.order(order))).collect();
        Account { cart_items, outcomes: records.map(outcome).collect(), balance: 0, orders, catalog: BTreeMap::new() }
    }

    /// An order with its lines, as responses show it.
    #[must_use]
    pub fn order(&self, order: &Order) -> Value {
        let lines = self.lines.iter().find(|lines| lines.account == order.account && lines.sort.0 == *order.id());
        let lines = json!(lines.expect("the lines of the order").lines);
        let item = |line: &Value| {
            json!({"itemId": line["Item"], "sku": line["Sku"], "name": line["Name"], "quantity": line["Quantity"],
                "price": line["Price"]["Amount"]})
        };
        json!({
            "orderId": order.id(), "accountId": order.account, "status": order.status,
            "total": order.total.amount(), "currency": order.total.currency(), "placedAt": order.placed_at,
            "statusChangedAt": order.status_changed_at,
            "items": lines.as_array().expect("lines").iter().map(item).collect::<Vec<_>>(),
        })
    }

    /// Whether a job still has to move cart items.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.contents.iter().any(|contents| !contents.moving.is_empty()) || self.orders.iter().any(|order| order.moving)
    }

    /// Checks the invariants of the table at the time `now`.
    pub fn check(&self, now: TimestampMillis) {
        let mut orders = BTreeMap::new();
        let mut active: BTreeMap<&AccountId, BTreeSet<&Sku>> = BTreeMap::new();
        let ids: BTreeSet<ItemId> = self.cart_items.iter().map(CartItem::id).collect();
        assert_eq!(ids.len(), self.cart_items.len(), "duplicate item id: {:#?}", self.cart_items);
        for cart_item in &self.cart_items {
            check_cart_item(cart_item);
            if cart_item.sort.status == Status::Active && cart_item.is_live(now) {
                let skus = active.entry(&cart_item.account).or_default();
                assert!(skus.insert(&cart_item.sku), "duplicate product in a cart: {cart_item:?}");
                assert!(skus.len() <= MAX_ITEMS, "too many items in a cart: {cart_item:?}");
                let contents = self.contents.iter().find(|contents| contents.account == cart_item.account);
                let entry = contents.and_then(|contents| contents.items.get(&cart_item.sku));
                let wanted = format!("{}#{}", cart_item.id(), cart_item.version);
                assert!(entry == Some(&wanted) || self.is_moving(), "{entry:?} is not {cart_item:?}");
            }
            if let Some(order) = &cart_item.order_id {
                let at = *orders.entry((&cart_item.account, order)).or_insert(cart_item.sort.since);
                assert_eq!(at, cart_item.sort.since, "items of one order must have the same time: {cart_item:?}");
            }
            if let Some(other) = cart_item.joined_to {
                assert!(other != cart_item.id() && ids.contains(&other), "joined to an unknown item: {cart_item:?}");
            }
        }
        // An item has a pointer after its first status change. If that was its removal, it has
        // none.
        let has_pointer = |cart_item: &&CartItem| {
            let is = |pointer: &Pointer| pointer.sort == ItemSort(cart_item.id());
            let is_removed = cart_item.sort.status == Status::Removed;
            cart_item.previous.is_some() && (!is_removed || self.pointers.iter().any(is))
        };
        let key = |cart_item: &CartItem| {
            (cart_item.account.clone(), ItemSort(cart_item.id()), cart_item.sort, cart_item.expires_at)
        };
        let pointed = |to: &Pointer| (to.account.clone(), to.sort.clone(), to.cart_item, to.expires_at);
        let sorted = |mut keys: Vec<_>| {
            keys.sort();
            keys
        };
        let wanted = sorted(self.cart_items.iter().filter(has_pointer).map(key).collect());
        assert_eq!(
            sorted(self.pointers.iter().map(pointed).collect()),
            wanted,
            "each pointer must match its cart item"
        );
    }
}

type Attributes = HashMap<String, AttributeValue>;

fn typed<T: DeserializeOwned>(items: Vec<Attributes>) -> Vec<T> {
    items.into_iter().map(|item| serde_dynamo::from_item(item).expect("an item of its type")).collect()
}

fn check_cart_item(cart_item: &CartItem) {
    let status = cart_item.sort.status;
    let indexed = status.is_listed();
    assert_eq!(
        cart_item.index_partition,
        indexed.then(|| cart_item.sku.clone()),
        "wrong index partition key: {cart_item:?}"
    );
    assert_eq!(cart_item.index_sort, indexed.then_some(cart_item.sort), "wrong index sort key: {cart_item:?}");
    let is_ordered = matches!(status, Status::Purchased | Status::Shipped | Status::Cancelled);
    assert_eq!(cart_item.order_id.is_some(), is_ordered, "wrong order id: {cart_item:?}");
    assert_eq!(cart_item.joined_to.is_some(), status == Status::Joined, "wrong joined item: {cart_item:?}");
    let stays = status == Status::Saved || is_ordered;
    assert_eq!(cart_item.expires_at.is_none(), stays, "wrong expiry: {cart_item:?}");
    match cart_item.previous {
        None => {
            assert_eq!(
                (status, cart_item.sort.since),
                (Status::Active, cart_item.added_at),
                "wrong status or time before the first status change: {cart_item:?}"
            );
            assert!(cart_item.version >= 1, "{cart_item:?}");
        }
        Some(previous) => {
            let open = matches!(previous.status, Status::Active | Status::Saved) || is_ordered;
            let open = open && previous.status != status;
            assert!(open && cart_item.version >= 2, "wrong previous status or version: {cart_item:?}");
            assert!(
                cart_item.added_at <= previous.since && previous.since <= cart_item.sort.since,
                "times must not decrease: {cart_item:?}"
            );
        }
    }
}
