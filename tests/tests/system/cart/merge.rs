//! Merging a guest's cart into the cart of an account (docs/decisions/cart-merge.md).

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::join_all;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use system_tests::{
    Asks, Client, assert_problem,
    cart::{MAX_ITEMS, Shop, items_of, model::Stored, path, product, put_products, twins},
    faults::{Fault, MOMENTS},
    parsed,
    patterns::function_named,
    text,
};

const MERGE: &str = "/cart/accounts/A-1/merge";

fn guest() -> Value {
    json!({"fromAccountId": "guest"})
}

async fn add(client: &Client, account: &str, sku: &str, quantity: usize) -> Value {
    let added = client.post(&items_of(account), &json!({"sku": sku, "quantity": quantity})).await;
    assert!(matches!(added.status, 200 | 201), "{}", added.body);
    added.body
}

/// The quantities in a cart, by SKU.
async fn quantities(client: &Client, account: &str) -> BTreeMap<String, u64> {
    let (items, _) = client.all(&format!("{}?limit=100", items_of(account))).await;
    let of = |item: &Value| (text(item, "sku").to_owned(), item["quantity"].as_u64().expect("a number"));
    let quantities: BTreeMap<_, _> = items.iter().map(of).collect();
    assert_eq!(quantities.len(), items.len(), "a product is in the cart twice: {items:?}");
    quantities
}

#[tokio::test]
async fn a_merge_moves_each_item_once() {
    let shop = Shop::open(30).await;
    let customer = Client::caller(&shop.stack, "cart:read cart:write", &["A-1", "guest"]);
    let tea = add(&customer, "guest", "tea", 2).await;
    add(&customer, "guest", "cup", 1).await;
    let saved = add(&customer, "guest", "pot", 1).await;
    customer.patch(&path(&saved), &json!({"status": "SAVED"})).await;
    let own = add(&customer, "A-1", "tea", 3).await;
    let merged = customer.post_once(MERGE, "K", &guest()).await;
    assert_eq!((merged.status, &merged.body), (200, &json!({"merged": 2, "skipped": 0})), "{}", merged.body);
    let wanted = BTreeMap::from([("tea".to_owned(), 5), ("cup".to_owned(), 1)]);
    assert_eq!(quantities(&customer, "A-1").await, wanted);
    assert_eq!(customer.get(&path(&own)).await.body["quantity"], 5);
    assert_eq!(quantities(&customer, "guest").await, BTreeMap::new());
    assert_problem(&customer.get(&path(&tea)).await, 404, "not-found");
    assert_eq!(customer.get(&path(&saved)).await.body["status"], "SAVED", "saved items stay with the guest");
    assert_eq!(customer.post_once(MERGE, "K", &guest()).await.body, json!({"merged": 2, "skipped": 0}));
    assert_eq!(customer.post(MERGE, &guest()).await.body, json!({"merged": 0, "skipped": 0}));
    assert_problem(&customer.post_once(MERGE, "K", &json!({"fromAccountId": "other"})).await, 403, "forbidden");
    assert_eq!(quantities(&customer, "A-1").await, wanted);
    Stored::read(&shop.stack).await.check(parsed("2026-01-02T10:30:00.123Z"));
    // The caller must own both carts.
    for account in ["A-1", "guest"] {
        let half = Client::caller(&shop.stack, "cart:write", &[account]);
        assert_problem(&half.post(MERGE, &guest()).await, 403, "forbidden");
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn a_merge_that_does_not_fit_changes_nothing() {
    let shop = Shop::open(30).await;
    let client = &shop.now;
    for number in 0..MAX_ITEMS {
        add(client, "A-1", &format!("sku-{number}"), 1).await;
    }
    add(client, "guest", "sku-0", 4).await;
    add(client, "guest", "tea", 1).await;
    let before = system_tests::cart::stored(&shop.stack).await;
    assert_problem(&client.post(MERGE, &guest()).await, 409, "cart-full");
    assert!(system_tests::cart::stored(&shop.stack).await == before);
    let (items, _) = client.all(&format!("{}?limit=100", items_of("A-1"))).await;
    let last = items.iter().find(|item| item["sku"] == "sku-7").expect("an item");
    client.patch(&path(last), &json!({"status": "SAVED"})).await;
    assert_eq!(client.post(MERGE, &guest()).await.body, json!({"merged": 2, "skipped": 0}));
    assert_eq!(quantities(client, "A-1").await.len(), MAX_ITEMS);
    let yen = money::Money::new(parsed("400"), parsed("JPY")).expect("a price");
    put_products(&shop.stack, [cart::Product { price: yen, ..product("cup") }]).await;
    add(client, "guest", "cup", 1).await;
    add(client, "A-2", "tea", 1).await;
    assert_problem(&client.post("/cart/accounts/A-2/merge", &guest()).await, 409, "cart-currency");
    shop.stack.stop().await;
}

#[tokio::test]
async fn a_merge_leaves_the_product_of_an_unreadable_item_with_the_guest() {
    let shop = Shop::open(30).await;
    let client = &shop.now;
    let own = add(client, "A-1", "tea", 3).await;
    for (sku, quantity) in [("tea", 2), ("cup", 1)] {
        add(client, "guest", sku, quantity).await;
    }
    let stored = Stored::read(&shop.stack).await.cart_items;
    let damaged = stored.iter().find(|item| item.id().to_string() == text(&own, "itemId")).expect("an item");
    let (dynamo, table) = (shop.stack.client().expect("a client"), shop.stack.table("Cart").expect("a table"));
    let set = async |quantity: AttributeValue| {
        let update = dynamo.update_item().table_name(table).key("PK", AttributeValue::S("A-1".to_owned()));
        let update = update.key("SK", AttributeValue::S(damaged.sort.to_string()));
        let update = update.update_expression("SET Quantity = :q").expression_attribute_values(":q", quantity);
        update.send().await.expect("updated");
    };
    set(AttributeValue::S("many".to_owned())).await;
    assert_eq!(client.post_once(MERGE, "K", &guest()).await.body, json!({"merged": 1, "skipped": 1}));
    assert_eq!(quantities(client, "guest").await, BTreeMap::from([("tea".to_owned(), 2)]));
    set(AttributeValue::N("3".to_owned())).await;
    assert_eq!(client.post_once(MERGE, "K", &guest()).await.body, json!({"merged": 1, "skipped": 1}));
    assert_eq!(client.post(MERGE, &guest()).await.body, json!({"merged": 1, "skipped": 0}));
    assert_eq!(quantities(client, "A-1").await, BTreeMap::from([("tea".to_owned(), 5), ("cup".to_owned(), 1)]));
    Stored::read(&shop.stack).await.check(parsed("2026-01-02T10:30:00.123Z"));
    // The outcome of a merge without items is recorded too.
    assert_eq!(client.post_once(MERGE, "empty", &guest()).await.body, json!({"merged": 0, "skipped": 0}));
    add(client, "guest", "pot", 1).await;
    assert_eq!(client.post_once(MERGE, "empty", &guest()).await.body, json!({"merged": 0, "skipped": 0}));
    shop.stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_merges_and_changes_lose_and_double_nothing() {
    let shop = Shop::open(30).await;
    let client = &shop.now;
    for number in 0..50 {
        add(client, "guest", &format!("sku-{number}"), 2).await;
    }
    for number in 40..60 {
        add(client, "A-1", &format!("sku-{number}"), 3).await;
    }
    let merges = (0..4).map(async |_| client.post(MERGE, &guest()).await.status);
    let adds = (0..10).map(async |number: usize| {
        add(client, "A-1", &format!("sku-{}", number * 7), 1).await;
        add(client, "guest", &format!("sku-{}", number * 7), 1).await;
        200
    });
    let (merges, adds) = futures::future::join(join_all(merges), join_all(adds)).await;
    assert!(merges.iter().chain(&adds).all(|status| matches!(status, 200 | 503)), "{merges:?}");
    for _ in 0..5 {
        client.post(MERGE, &guest()).await;
    }
    let wanted = (0..64).filter_map(|number: u64| {
        let guests = if number < 50 { 2 } else { 0 };
        let own = if (40..60).contains(&number) { 3 } else { 0 };
        let added = if number.is_multiple_of(7) { 2 } else { 0 };
        Some((format!("sku-{number}"), guests + own + added)).filter(|(_, sum)| *sum > 0)
    });
    assert_eq!(quantities(client, "A-1").await, wanted.collect());
    Stored::read(&shop.stack).await.check(parsed("2026-01-02T10:30:00.123Z"));
    shop.stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_of_200_items_that_is_killed_at_any_call_moves_each_item_once() {
    let twins = twins().await;
    let client = Client::operator(&twins.healthy);
    let mut wanted = BTreeMap::new();
    for number in 0..MAX_ITEMS {
        let sku = format!("sku-{number}");
        add(&client, "guest", &sku, number % 5 + 1).await;
        wanted.insert(sku, u64::try_from(number % 5 + 1).expect("a number"));
    }
    for number in 0..10 {
        let sku = format!("sku-{}", 20 * number);
        add(&client, "A-1", &sku, 3).await;
        *wanted.entry(sku).or_default() += 3;
    }
    let asks = Asks {
        route: "POST /cart/accounts/{accountId}/merge",
        path: MERGE,
        parameters: json!({"accountId": "A-1"}),
        key: Some("K"),
        body: Some(&guest()),
    };
    let event = asks.at(jiff::Timestamp::now());
    let mut deaths = 0;
    'calls: for number in 1..50 {
        for moment in MOMENTS {
            let process = twins.process("merge-carts", &function_named("merge-carts"));
            twins.proxy.rule(move |call| if call.number == number { Fault::Death(moment) } else { Fault::None });
            if process.run(&event, Duration::from_mins(1)).await.is_some() {
                break 'calls;
            }
            deaths += 1;
            let mut both = quantities(&client, "A-1").await;
            for (sku, quantity) in quantities(&client, "guest").await {
                *both.entry(sku).or_default() += quantity;
            }
            assert_eq!(both, wanted, "call {number} {moment:?}");
        }
    }
    assert!(deaths > 10, "{deaths}");
    assert_eq!(quantities(&client, "A-1").await, wanted);
    assert_eq!(quantities(&client, "guest").await, BTreeMap::new());
    Stored::read(&twins.healthy).await.check(parsed("2026-01-02T10:30:00.123Z"));
}
