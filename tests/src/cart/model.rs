//! The items of the table `Cart`, and their invariants.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may panic")]

use super::MAX_ITEMS;
use aws_sdk_dynamodb::types::AttributeValue;
use cart::{CartItem, Order, OrderLines};
use keys::{
    AccountId, IdempotencySort, OrderId, Sku, TimestampMillis,
    cart::{CartItemSort, ItemId, ItemSort, Status},
};
use local::Stack;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use table::Item;

/// Idempotency record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Record {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: IdempotencySort,
    request: String,
    outcome: String,
    expires_at: i64,
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
