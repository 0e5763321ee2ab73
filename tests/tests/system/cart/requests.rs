//! Requests that conflict with the state of a cart must return the right problem and write nothing.
//! Unusual but valid requests must succeed.

use cart::Product;
use money::Money;
use serde_json::{Value, json};
use system_tests::{
    Asking, Client,
    cart::{MAX_ITEMS, Shop, checkout_of, items_of, path, product, put_products, stock, stored},
    parsed,
    requests::{Case, SECRET, all_are_refused, sent},
    send, text,
};

const ITEMS: &str = "/cart/accounts/A-1/items";
const CHECKOUT: &str = "/cart/accounts/A-1/checkout";
const GOOD: &str = r#"{"sku": "tea", "quantity": 1}"#;

/// Requests with ids that are valid on their own but too long in combination.
fn sizes(client: &Client) -> Vec<Case> {
    let long = ["\u{20ac}".repeat(128), "\u{1f4b6}".repeat(128), "\u{e4}".repeat(128)];
    let mut cases = Vec::new();
    for sku in &long {
        for account in &long {
            let request = client.request("POST", &items_of(account)).json(&json!({"sku": sku, "quantity": 1}));
            cases.push(Case::new("ids that are too long in combination", request, 413, "too-large"));
        }
    }
    cases
}

fn add_request(client: &Client, account: &str, sku: &str, more: &Value) -> Asking {
    let mut body = json!({"sku": sku, "quantity": 1});
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    client.request("POST", &items_of(account)).json(&body)
}

fn states(client: &Client, bought: &Value) -> Vec<Case> {
    let mut cases = Vec::new();
    for body in [json!({"quantity": 7}), json!({"status": "ACTIVE"}), json!({"status": "SAVED"})] {
        let request = client.request("PATCH", &path(bought)).json(&body);
        cases.push(Case::new(format!("PATCH of a purchased item {body}"), request, 409, "purchased"));
    }
    cases.push(Case::new("DELETE of a purchased item", client.request("DELETE", &path(bought)), 409, "purchased"));
    let unknown = add_request(client, "A-1", "unknown", &json!({}));
    cases.push(Case::new("an unknown product", unknown, 409, "product-unavailable"));
    let inactive = add_request(client, "A-1", "inactive", &json!({}));
    cases.push(Case::new("an inactive product", inactive, 409, "product-unavailable"));
    let foreign = add_request(client, "dollars", "in-yen", &json!({}));
    cases.push(Case::new("a product in another currency", foreign, 409, "cart-currency"));
    let merge = |body: &'static str| sent(client, "POST", "/cart/accounts/A-1/merge", body);
    cases.push(Case::new("a merge of a full cart", merge(r#"{"fromAccountId": "over"}"#), 409, "cart-full"));
    cases.push(Case::new("a merge of currencies", merge(r#"{"fromAccountId": "yen"}"#), 409, "cart-currency"));
    cases.push(Case::new("a merge of many pieces", merge(r#"{"fromAccountId": "many"}"#), 409, "quantity-limit"));
    cases.push(Case::new("an empty cart", client.request("POST", &checkout_of("A-9")), 409, "cart-empty"));
    cases.push(Case::new("a full cart", add_request(client, "full", "one-more", &json!({})), 409, "cart-full"));
    let most = json!({"sku": "sku-0", "quantity": 9_999});
    cases.push(Case::new(
        "maximum quantity",
        client.request("POST", &items_of("full")).json(&most),
        409,
        "quantity-limit",
    ));
    cases
}

/// Creates a cart item with a long SKU, a purchased item, an item of another account, and a full
/// cart. Returns the first two items.
async fn filled(shop: &Shop) -> Value {
    let yen = Money::new(parsed("1200"), parsed("JPY")).expect("a price");
    let long = ["\u{20ac}".repeat(128), "\u{1f4b6}".repeat(128), "\u{e4}".repeat(128), "x".repeat(128)];
    stock(&shop.stack, long.iter().map(String::as_str).chain([SECRET])).await;
    let special = [Product { active: false, ..product("inactive") }, Product { price: yen, ..product("in-yen") }];
    put_products(&shop.stack, special).await;
    let add = async |account: &str, sku: &str| send(add_request(&shop.now, account, sku, &json!({}))).await.body;
    let cart_item = add("A-1", &"x".repeat(128)).await;
    let taken = add_request(&shop.now, "A-1", "tea", &json!({})).header("idempotency-key", "taken");
    let bought = path(&send(taken).await.body);
    shop.now.patch(&path(&cart_item), &json!({"status": "SAVED"})).await;
    shop.now.post(CHECKOUT, &json!({})).await;
    let bought = shop.now.get(&bought).await;
    add("dollars", "tea").await;
    add(SECRET, SECRET).await;
    for number in 0..MAX_ITEMS {
        add("full", &format!("sku-{number}")).await;
        add("over", &format!("sku-{number}")).await;
    }
    add("yen", "in-yen").await;
    add("A-1", "pot").await;
    send(shop.now.request("POST", &items_of("many")).json(&json!({"sku": "pot", "quantity": 9_999}))).await;
    bought.body
}

#[tokio::test]
async fn a_request_that_conflicts_with_the_state_writes_nothing() {
    let shop = Shop::open(30).await;
    let bought = filled(&shop).await;
    let client = &shop.now;
    let cases: Vec<Case> = [sizes(client), states(client, &bought)].into_iter().flatten().collect();
    assert!(stored(&shop.stack).await.len() > MAX_ITEMS);
    all_are_refused(cases, &shop.stack.tables(), async || stored(&shop.stack).await).await;
    shop.stack.stop().await;
}

/// Price in the request, currency, and price in the response.
const PRICES: [(&str, &str, &str); 16] = [
    ("12.49", "USD", "12.49"),
    ("\"12.49\"", "USD", "12.49"),
    ("0.1", "USD", "0.10"),
    ("0.29", "EUR", "0.29"),
    ("1.005", "KWD", "1.005"),
    ("999999999999.99", "USD", "999999999999.99"),
    ("\"999999999999.99\"", "USD", "999999999999.99"),
    ("900719925474.09", "USD", "900719925474.09"),
    ("123456789012.345", "KWD", "123456789012.345"),
    ("100", "JPY", "100"),
    ("100.00", "JPY", "100"),
    ("12.490000", "USD", "12.49"),
    ("0", "USD", "0.00"),
    ("0.01", "USD", "0.01"),
    ("\"0.0001\"", "CLF", "0.0001"),
    ("4.35", "USD", "4.35"),
];

#[tokio::test]
async fn returns_prices_in_strings_and_numbers_exactly() {
    let shop = Shop::open(30).await;
    for (number, (sent_as, currency, price)) in PRICES.into_iter().enumerate() {
        let (product, account) = (format!("/cart/products/price-{number}"), format!("A-{number}"));
        let body = format!(r#"{{"name": "Tea", "price": {sent_as}, "currency": "{currency}"}}"#);
        let put = send(sent(&shop.now, "PUT", &product, body)).await;
        assert_eq!((put.status, &put.body["price"]), (201, &json!(price)), "{sent_as} {currency}: {}", put.body);
        assert_eq!(shop.now.get(&product).await.body, put.body);
        let added = send(add_request(&shop.now, &account, &format!("price-{number}"), &json!({}))).await;
        assert_eq!((added.status, &added.body["price"]), (201, &json!(price)), "{sent_as} {currency}: {}", added.body);
        assert_eq!(added.body["currency"], currency);
        assert_eq!(shop.now.get(&path(&added.body)).await.body, added.body);
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn accepts_unusual_but_valid_requests() {
    let shop = Shop::open(30).await;
    let client = &shop.now;
    let longest = "x".repeat(128);
    let ids = [
        ("a%2523b", "a%23b"),
        ("%2F", "/"),
        ("a+b", "a+b"),
        ("%C3%A4%F0%9F%92%B6", "ä💶"),
        ("items", "items"),
        ("CART", "CART"),
        (longest.as_str(), longest.as_str()),
    ];
    for (escaped, id) in ids {
        let items = items_of(escaped);
        stock(&shop.stack, [id]).await;
        let created = client.post(&items, &json!({"sku": id, "quantity": 9_999})).await;
        let shown = (created.status, &created.body["accountId"], &created.body["sku"]);
        assert_eq!(shown, (201, &json!(id), &json!(id)), "{}", created.body);
        let location = created.headers["location"].to_str().expect("ASCII");
        assert_eq!(client.get(location).await.body, created.body);
        assert_eq!(client.get(&items).await.body["items"], json!([created.body]));
        assert_eq!(client.get(&format!("/cart/skus/{escaped}/items")).await.body["items"], json!([created.body]));
        let bought = client.post(&checkout_of(escaped), &json!({"expectedTotal": "124887.51"})).await;
        assert_eq!((bought.status, &bought.body["accountId"]), (200, &json!(id)), "{}", bought.body);
        let order = text(&bought.body, "orderId");
        let read = client.get(&format!("/cart/accounts/{escaped}/orders/{order}")).await;
        assert_eq!((read.status, &read.body), (200, &bought.body));
    }
    for kind in
        ["application/json", "APPLICATION/JSON; charset=utf-8", "application/merge-patch+json", "application/json;"]
    {
        let taken = send(client.request("POST", ITEMS).header("content-type", kind).body(GOOD)).await;
        assert!([200, 201].contains(&taken.status), "{kind}: {}", taken.body);
    }
    // A checkout accepts no body, too.
    let checkout = client.request("POST", CHECKOUT).header("content-type", "text/plain").body("please");
    assert_eq!(send(checkout).await.status, 415);
    assert_eq!(send(sent(client, "POST", CHECKOUT, r#"{"sku": "s"}"#)).await.status, 400);
    assert_eq!(send(sent(client, "POST", CHECKOUT, "{}")).await.status, 200);
    let spaces = format!("{GOOD}{}", " ".repeat(64 * 1024 - GOOD.len()));
    assert_eq!(send(sent(client, "POST", ITEMS, spaces)).await.status, 201, "64 KB");
    shop.stack.stop().await;
}
