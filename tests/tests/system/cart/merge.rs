//! Merging a guest's cart into the cart of an account (docs/decisions/cart-orders.md).

use serde_json::{Value, json};
use std::collections::BTreeMap;
use system_tests::{
    Client, assert_problem,
    cart::{MAX_ITEMS, Shop, in_yen, items_of, path, put_products, stored},
    text,
};

const MERGE: &str = "/cart/accounts/A-1/merge";

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
    let (shop, guest) = (Shop::open(30).await, json!({"fromAccountId": "guest"}));
    let customer = Client::caller(&shop.stack, "cart:read cart:write", &["A-1", "guest"]);
    let tea = add(&customer, "guest", "tea", 2).await;
    add(&customer, "guest", "cup", 1).await;
    let saved = add(&customer, "guest", "pot", 1).await;
    customer.patch(&path(&saved), &json!({"status": "SAVED"})).await;
    let own = add(&customer, "A-1", "tea", 3).await;
    let wanted = BTreeMap::from([("tea".to_owned(), 5), ("cup".to_owned(), 1)]);
    for _ in 0..2 {
        let merged = customer.post_once(MERGE, "K", &guest).await;
        assert_eq!((merged.status, &merged.body), (200, &json!({"merged": 2, "skipped": 0})), "{}", merged.body);
        assert_eq!(quantities(&customer, "A-1").await, wanted);
    }
    assert_eq!(customer.post(MERGE, &guest).await.body, json!({"merged": 0, "skipped": 0}));
    assert_eq!(customer.get(&path(&own)).await.body["quantity"], 5);
    assert_eq!(quantities(&customer, "guest").await, BTreeMap::new());
    assert_problem(&customer.get(&path(&tea)).await, 404, "not-found");
    assert_eq!(customer.get(&path(&saved)).await.body["status"], "SAVED", "saved items stay with the guest");
    shop.stack.stop().await;
}

#[tokio::test]
async fn a_merge_that_does_not_fit_changes_nothing() {
    let (shop, guest) = (Shop::open(30).await, json!({"fromAccountId": "guest"}));
    let client = &shop.now;
    let mut last = Value::Null;
    for number in 0..MAX_ITEMS {
        last = add(client, "A-1", &format!("sku-{number}"), 1).await;
    }
    add(client, "guest", "sku-0", 4).await;
    add(client, "guest", "tea", 1).await;
    put_products(&shop.stack, [in_yen("cup")]).await;
    for (account, sku, quantity) in [("yen", "cup", 1), ("many", "tea", 9_999)] {
        add(client, account, sku, quantity).await;
    }
    let before = stored(&shop.stack).await;
    for (account, kind) in [("A-1", "cart-full"), ("yen", "cart-currency"), ("many", "quantity-limit")] {
        let refused = client.post(&format!("/cart/accounts/{account}/merge"), &guest).await;
        assert_problem(&refused, 409, kind);
    }
    assert!(stored(&shop.stack).await == before);
    client.patch(&path(&last), &json!({"status": "SAVED"})).await;
    assert_eq!(client.post(MERGE, &guest).await.body, json!({"merged": 2, "skipped": 0}));
    let quantities = quantities(client, "A-1").await;
    assert_eq!((quantities.len(), quantities["sku-0"]), (MAX_ITEMS, 5));
    shop.stack.stop().await;
}
