//! Merging a guest's cart into the cart of an account (docs/decisions/cart-merge.md).

use serde_json::{Value, json};
use std::collections::BTreeMap;
use system_tests::{
    Client, assert_problem,
    cart::{MAX_ITEMS, Shop, items_of, model::Stored, path, product, put_products},
    parsed, text,
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
