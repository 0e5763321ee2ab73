//! The list of the orders of all customers with a status, such as those to ship
//! (docs/requirements/cart.md#orders, docs/decisions/cart-orders.md).

use jiff::SignedDuration;
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::AtomicBool,
};
use system_tests::{
    Client, assert_problem,
    cart::{Shop, checkout_of, items, items_of, stack, stocked},
    clock::{MILLISECOND, time},
    growth::Growth,
    text, texts,
};

const START: &str = "2026-01-02T10:30:00.123Z";
const ORDERS: usize = 40;

/// An order as the list by status has it: without its lines and its author.
fn entry(mut order: Value) -> Value {
    let members = order.as_object_mut().expect("an order");
    members.retain(|name, _| !matches!(name.as_str(), "items" | "changedBy"));
    order
}

/// Places orders of several customers. Some have the same time. Returns them as the list has them,
/// newest first.
async fn place(shop: &Shop) -> Vec<Value> {
    let mut orders = Vec::new();
    for number in 0..ORDERS {
        let (at, account) = (shop.at(at(number)), format!("A-{number}"));
        at.add(&account, "tea", 1).await;
        orders.push(entry(at.post(&checkout_of(&account), &json!({})).await.body));
    }
    orders.sort_by(|one, other| text(other, "orderId").cmp(text(one, "orderId")));
    orders
}

/// The time of an order.
fn at(number: usize) -> jiff::Timestamp {
    time(START) + i32::try_from(number / 2).expect("a number") * MILLISECOND
}

/// The partitions of the index that have orders.
async fn partitions(stack: &Stack) -> BTreeSet<String> {
    let stored = items(stack).await;
    stored.iter().filter_map(|item| item.get("GSI2PK")?.as_s().ok()).cloned().collect()
}

#[tokio::test]
async fn orders_of_all_shards_are_listed_newest_first() {
    let shop = Shop::open(30).await;
    let orders = place(&shop).await;
    assert_eq!(partitions(&shop.stack).await.len(), 4, "each shard has orders");
    // The list has no default range: an old order still has to be shipped.
    let later = shop.at(time(START) + SignedDuration::from_hours(24 * 400));
    for limit in [1, 7, 100] {
        assert_eq!(later.all(&format!("/cart/orders?limit={limit}")).await.0, orders, "{limit}");
    }
    for (status, count) in [("PLACED", ORDERS), ("SHIPPED", 0), ("DELIVERED", 0), ("CANCELLED", 0)] {
        assert_eq!(later.all(&format!("/cart/orders?status={status}")).await.0.len(), count, "{status}");
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn a_range_of_orders_includes_both_ends() {
    let shop = Shop::open(30).await;
    let orders = place(&shop).await;
    let now = shop.at(time(START));
    let placed = |order: &Value| time(text(order, "placedAt"));
    for (first, last) in [(0, 39), (4, 4), (6, 21), (38, 39)] {
        let (from, to) = (at(first), at(last));
        let wanted: Vec<_> = orders.iter().filter(|order| (from..=to).contains(&placed(order))).cloned().collect();
        assert!(wanted.len() >= 2);
        assert_eq!(now.all(&format!("/cart/orders?limit=3&from={from}&to={to}")).await.0, wanted, "{from} {to}");
        let rest = orders.iter().filter(|order| placed(order) >= from).count();
        assert_eq!(now.all(&format!("/cart/orders?limit=9&from={from}")).await.0.len(), rest, "{from}");
        let rest = orders.iter().filter(|order| placed(order) <= to).count();
        assert_eq!(now.all(&format!("/cart/orders?limit=9&to={to}")).await.0.len(), rest, "{to}");
    }
    for (query, pointer) in [
        ("status=PURCHASED", "/query/status"),
        ("from=2026-01-03T00:00:00Z&to=2026-01-02T00:00:00Z", "/query/to"),
        ("from=today", "/query/from"),
    ] {
        let answer = now.get(&format!("/cart/orders?{query}")).await;
        assert_problem(&answer, 400, "invalid-request");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{}", answer.body);
    }
    shop.stack.stop().await;
}

/// Between two pages, orders are placed, shipped and cancelled.
#[tokio::test]
async fn a_cursor_stays_valid_while_orders_change_their_status() {
    let shop = Shop::open(30).await;
    let orders = place(&shop).await;
    let now = shop.at(time(START) + SignedDuration::from_mins(1));
    let to = async |order: &Value, status: &str| {
        let path = format!("/cart/accounts/{}/orders/{}", text(order, "accountId"), text(order, "orderId"));
        let changed = now.patch(&path, &json!({"status": status})).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
        entry(changed.body)
    };
    let page = now.get("/cart/orders?limit=10").await.body;
    assert_eq!(page["items"], json!(orders[..10]));
    // The last order of the page, the next one and a new one.
    let mut shipped = Vec::new();
    for number in [20, 10, 9, 0] {
        shipped.insert(0, to(&orders[number], "SHIPPED").await);
    }
    let delivered = to(&orders[30], "SHIPPED").await;
    let delivered = to(&delivered, "DELIVERED").await;
    let cancelled = to(&orders[31], "CANCELLED").await;
    now.add("B-1", "tea", 1).await;
    assert_eq!(now.post(&checkout_of("B-1"), &json!({})).await.status, 200);
    let cursor = text(&page, "nextCursor");
    let rest = now.get(&format!("/cart/orders?limit=100&cursor={cursor}")).await.body;
    let still = (11..ORDERS).filter(|number| ![20, 30, 31].contains(number)).map(|number| &orders[number]);
    assert_eq!(rest["items"], json!(still.collect::<Vec<_>>()));
    // A cursor is bound to the status.
    let other = now.get(&format!("/cart/orders?status=SHIPPED&cursor={cursor}")).await;
    assert_problem(&other, 400, "invalid-request");
    for (status, wanted) in [("SHIPPED", shipped), ("DELIVERED", vec![delivered]), ("CANCELLED", vec![cancelled])] {
        assert_eq!(
            now.all(&format!("/cart/orders?status={status}&limit=2")).await.0,
            wanted,
            "by the time of the order"
        );
    }
    shop.stack.stop().await;
}

/// An order keeps its shard, and its entry has only what the list shows.
#[tokio::test]
async fn the_entry_of_an_order_is_narrow_and_keeps_its_shard() {
    let shop = Shop::open(30).await;
    let (now, account) = (shop.at(time(START)), "a".repeat(36));
    now.add(&account, "tea", 9_999).await;
    let order = now.post(&checkout_of(&account), &json!({})).await.body;
    let shard = async || {
        let found = partitions(&shop.stack).await.into_iter().next().expect("an order");
        let (status, shard) = found.split_once('#').expect("two parts");
        (status.to_owned(), shard.to_owned())
    };
    let (_, first) = shard().await;
    for status in ["SHIPPED", "DELIVERED"] {
        let path = format!("/cart/accounts/{account}/orders/{}", text(&order, "orderId"));
        assert_eq!(now.patch(&path, &json!({"status": status})).await.status, 200);
        assert_eq!(shard().await, (status.to_owned(), first.clone()));
    }
    let (client, table) = (shop.stack.client().expect("a client"), shop.stack.table("Cart").expect("a table"));
    let found = client.scan().table_name(table).index_name("GSI2").send().await.expect("the index").items;
    let [entry] = &found.expect("items")[..] else { unreachable!("one order") };
    let names: BTreeSet<&str> = entry.keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(["GSI2PK", "PK", "SK", "StatusChangedAt", "Total"]));
    let bytes = system_tests::units::bytes(entry);
    assert!(bytes <= 4_096 / 20, "20 entries must fit into half a read unit: {bytes} bytes");
    shop.stack.stop().await;
}

fn sharded(write: u16, read: u16) -> Builder {
    stack().parameter("OrderWriteShards", write.to_string()).parameter("OrderReadShards", read.to_string())
}

#[tokio::test]
async fn readers_miss_no_order_while_shards_are_added() {
    let old = stocked(sharded(1, 1)).await;
    let beside =
        async |write, read| sharded(write, read).dynamo_endpoint(old.dynamo_url()).start().await.expect("a stack");
    let (between, grown) = (beside(1, 3).await, beside(3, 3).await);
    let place = async |client: &Client, number: usize| {
        let account = format!("A-{number}-{}", fastrand::u64(..));
        assert_eq!(client.post(&items_of(&account), &json!({"sku": "tea"})).await.status, 201);
        text(&client.post(&checkout_of(&account), &json!({})).await.body, "orderId").to_owned()
    };
    let list = async |client: &Client| {
        let (orders, _) = client.all("/cart/orders?limit=40").await;
        texts(&orders, "orderId").into_iter().map(str::to_owned).collect()
    };
    let placed = Growth::new(place, list);
    placed.step("before", &[&old], &[&old]).await;
    placed.step("readers change", &[&old], &[&old, &between]).await;
    placed.step("writers change", &[&between, &grown], &[&between, &grown]).await;
    placed.misses_nothing(&between, &AtomicBool::new(true), "at the end").await;
    assert_eq!(partitions(&old).await.len(), 3);
}

#[tokio::test]
async fn rejects_more_write_shards_than_read_shards() {
    let error = sharded(3, 2).start().await.expect_err("it must not start").to_string();
    assert!(error.contains("ORDER_WRITE_SHARDS ≤ ORDER_READ_SHARDS"), "{error}");
}

/// An order whose entry cannot be read is left out and counted, and hides no other order.
#[tokio::test]
async fn a_page_ends_at_no_unreadable_order() {
    let shop = Shop::open(30).await;
    let orders = place(&shop).await;
    let (client, table) = (shop.stack.client().expect("a client"), shop.stack.table("Cart").expect("a table"));
    let mut damaged: BTreeMap<_, _> = items(&shop.stack)
        .await
        .into_iter()
        .find(|item| item.contains_key("GSI2PK"))
        .expect("an order")
        .into_iter()
        .collect();
    // An id without a time sorts before the others.
    let text_of = |value: &str| aws_sdk_dynamodb::types::AttributeValue::S(value.to_owned());
    damaged.insert("SK".to_owned(), text_of("ORDER#unknown"));
    client.put_item().table_name(table).set_item(Some(damaged.into_iter().collect())).send().await.expect("put");
    let first = shop.now.get("/cart/orders?limit=1").await.body;
    assert_eq!((&first["items"], &first["skipped"]), (&json!([]), &json!(1)));
    let (all, _) = shop.now.all("/cart/orders?limit=1").await;
    assert_eq!(all, orders);
    shop.stack.stop().await;
}
