//! Products: versions, visibility, and their prices in the cart
//! (docs/requirements/cart.md#products-and-prices).

use futures::future::join_all;
use hostile::Rates;
use serde_json::{Value, json};
use system_tests::{
    Answer, Client, assert_problem,
    cart::{Shop, checkout_of, in_yen, items_of, path, product, put_products, stack, stock},
    send, text, texts,
};

const TEA: &str = "/cart/products/tea";

/// Puts a product with this price, and with more members.
async fn put(client: &Client, price: &str, more: Value) -> Answer {
    let mut body = json!({"name": "Green tea", "price": price, "currency": "USD"});
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    client.put(TEA, &body).await
}

#[tokio::test]
async fn each_change_of_a_product_has_a_version() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::member(&stack, "cart:operate", "none", "ann");
    for (price, more, wanted) in [
        ("4.5", json!({}), (201, 1, "4.50", true)),
        ("4.50", json!({}), (200, 1, "4.50", true)),
        ("4.60", json!({"version": 1}), (200, 2, "4.60", true)),
        ("4.70", json!({}), (200, 3, "4.70", true)),
        ("4.70", json!({"active": false, "version": 3}), (200, 4, "4.70", false)),
        // A repeated request changes nothing, although its version is old.
        ("4.70", json!({"active": false, "version": 3}), (200, 4, "4.70", false)),
    ] {
        let (status, version, price_of, active) = wanted;
        let answer = put(&client, price, more).await;
        let stored = json!({"sku": "tea", "name": "Green tea", "price": price_of, "currency": "USD", "active": active,
            "version": version, "changedBy": {"sub": "ann", "scope": "cart:operate"}});
        assert_eq!((answer.status, &answer.body), (status, &stored));
        assert_eq!(client.get(TEA).await.body, stored);
    }
    assert_problem(&put(&client, "9", json!({"version": 3})).await, 412, "another-version");
    let bob = Client::member(&stack, "cart:operate", "none", "bob");
    for (price, author) in [("4.70", "ann"), ("4.80", "bob")] {
        let answer = put(&bob, price, json!({"active": false})).await;
        assert_eq!(
            answer.body["changedBy"]["sub"], author,
            "a request without a change has no author: {}",
            answer.body
        );
    }
    let changes = (0..10).map(|number| format!("{number}"));
    let answers = join_all(changes.map(async |price| put(&client, &price, json!({"version": 5})).await.status)).await;
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 1, "one change per version: {answers:?}");
    stack.stop().await;
}

/// An eventually consistent read misses a new product for a moment.
#[tokio::test]
async fn a_new_product_can_be_added_immediately() {
    let rates = Rates { stale: 1.0, ..Rates::default() };
    let stack = stack().hostile(1, rates).start().await.expect("a stack");
    let client = Client::operator(&stack);
    for number in 0..10 {
        let body = json!({"name": "Tea", "price": "4.50", "currency": "USD"});
        assert_eq!(client.put(&format!("/cart/products/tea-{number}"), &body).await.status, 201);
        let added = client.post(&items_of("Ann"), &json!({"sku": format!("tea-{number}")})).await;
        assert_eq!(added.status, 201, "{}", added.body);
    }
    stack.stop().await;
}

#[tokio::test]
async fn customers_see_active_products_only() {
    let stack = stack().start().await.expect("a stack");
    let (operator, customer) = (Client::operator(&stack), Client::caller(&stack, "cart:read", &["A-1"]));
    let products =
        (0..30).map(|number| cart::Product { active: number % 3 > 0, ..product(&format!("sku-{number:02}")) });
    put_products(&stack, products).await;
    for (client, wanted) in [(&operator, 30), (&customer, 20)] {
        let (listed, _) = client.all("/cart/products?limit=7").await;
        let skus = texts(&listed, "sku");
        assert!(skus.is_sorted_by(|one, other| one < other) && skus.len() == wanted, "{skus:?}");
    }
    assert_eq!(operator.get("/cart/products/sku-00").await.body["active"], false);
    assert_problem(&customer.get("/cart/products/sku-00").await, 404, "not-found");
    assert_eq!(customer.get("/cart/products/sku-01").await.body["active"], true);
    stack.stop().await;
}

#[tokio::test]
async fn cart_items_copy_the_product_and_reads_mark_later_changes() {
    let shop = Shop::open(30).await;
    let customer = Client::caller(&shop.stack, "cart:read cart:write", &["A-1"]);
    put(&shop.now, "4.50", json!({})).await;
    let add = async || customer.post(&items_of("A-1"), &json!({"sku": "tea"})).await;
    let added = add().await.body;
    assert_eq!((text(&added, "name"), text(&added, "price"), &added["quantity"]), ("Green tea", "4.50", &json!(1)));
    for (price, more, mark) in [
        ("4.60", json!({}), "priceChanged"),
        ("4.60", json!({"active": false}), "unavailable"),
        ("4.50", json!({}), ""),
        ("4.50", json!({"name": "Black tea"}), ""),
        ("5.00", json!({}), "priceChanged"),
    ] {
        put(&shop.now, price, more).await;
        let mut wanted = added.clone();
        wanted.as_object_mut().expect("an object").extend((!mark.is_empty()).then(|| (mark.to_owned(), json!(true))));
        for (query, wanted) in [("?prices=current", &wanted), ("", &added)] {
            assert_eq!(customer.get(&format!("{}{query}", path(&added))).await.body, *wanted);
            assert_eq!(customer.get(&format!("{}{query}", items_of("A-1"))).await.body["items"], json!([wanted]));
            assert_eq!(shop.now.get(&format!("/cart/skus/tea/items{query}")).await.body["items"], json!([wanted]));
        }
        if mark == "unavailable" {
            assert_problem(&add().await, 409, "product-unavailable");
        }
    }
    // A saved item keeps its price and is marked, too. Another addition takes the new price.
    let saved = customer.patch(&path(&added), &json!({"status": "SAVED"})).await;
    assert_eq!((saved.status, text(&saved.body, "price")), (200, "4.50"));
    let list = customer.get(&format!("{}?status=SAVED&prices=current", items_of("A-1"))).await.body;
    assert_eq!((&list["items"][0]["priceChanged"], text(&list["items"][0], "price")), (&json!(true), "4.50"));
    customer.patch(&path(&added), &json!({"status": "ACTIVE"})).await;
    let more = add().await.body;
    assert_eq!((text(&more, "price"), &more["quantity"], &more["itemId"]), ("5.00", &json!(2), &added["itemId"]));
    shop.stack.stop().await;
}

#[tokio::test]
async fn a_cart_has_one_currency() {
    let shop = Shop::open(30).await;
    put_products(&shop.stack, [in_yen("cup")]).await;
    let add = async |account: &str, sku: &str| shop.now.post(&items_of(account), &json!({"sku": sku})).await;
    let cup = add("A-1", "cup").await.body;
    assert_problem(&add("A-1", "tea").await, 409, "cart-currency");
    shop.now.patch(&path(&cup), &json!({"status": "SAVED"})).await;
    assert_eq!(add("A-1", "tea").await.status, 201, "saved items do not count");
    assert_problem(&shop.now.patch(&path(&cup), &json!({"status": "ACTIVE"})).await, 409, "cart-currency");
    // The only item of a cart may change its currency with its product.
    add("A-2", "tea").await;
    put(&shop.now, "3", json!({"currency": "EUR"})).await;
    let more = add("A-2", "tea").await;
    assert_eq!((more.status, text(&more.body, "currency")), (200, "EUR"), "{}", more.body);
    // An expected total is in the currency that the customer has seen, or in the named one.
    put(&shop.now, "3", json!({})).await;
    let buy = async |body: Value| shop.now.post(&checkout_of("A-2"), &body).await;
    assert_problem(&buy(json!({"expectedTotal": "6.00"})).await, 409, "total-changed");
    let bought = buy(json!({"expectedTotal": "6.00", "expectedCurrency": "USD"})).await;
    assert_eq!((bought.status, text(&bought.body, "currency")), (200, "USD"), "{}", bought.body);
    shop.stack.stop().await;
}

/// Price in the request, currency, and price in the response.
const PRICES: [(&str, &str, &str); 8] = [
    ("0.1", "USD", "0.10"),
    ("1.005", "KWD", "1.005"),
    ("999999999999.99", "USD", "999999999999.99"),
    ("900719925474.09", "USD", "900719925474.09"),
    ("\"123456789012.345\"", "KWD", "123456789012.345"),
    ("100.00", "JPY", "100"),
    ("0", "USD", "0.00"),
    ("\"0.0001\"", "CLF", "0.0001"),
];

/// Ids as in a path, and as in a body.
const IDS: [(&str, &str); 5] =
    [("a%2523b", "a%23b"), ("%2F", "/"), ("a+b", "a+b"), ("%C3%A4%F0%9F%92%B6", "ä💶"), ("items", "items")];

#[tokio::test]
async fn prices_and_ids_are_returned_as_they_were_sent() {
    let shop = Shop::open(30).await;
    let client = &shop.now;
    for (number, (price, currency, wanted)) in PRICES.into_iter().enumerate() {
        let body = format!(r#"{{"name": "Tea", "price": {price}, "currency": "{currency}"}}"#);
        let put = send(client.request("PUT", TEA).header("content-type", "application/json").body(body)).await;
        let added = client.post(&items_of(&format!("A-{number}")), &json!({"sku": "tea"})).await.body;
        for body in [&put.body, &added, &client.get(TEA).await.body, &client.get(&path(&added)).await.body] {
            assert_eq!((text(body, "price"), text(body, "currency")), (wanted, currency), "{price}");
        }
    }
    for (escaped, id) in IDS {
        stock(&shop.stack, [id]).await;
        let created = client.post(&items_of(escaped), &json!({"sku": id, "quantity": 9_999})).await;
        assert_eq!((text(&created.body, "accountId"), text(&created.body, "sku")), (id, id), "{}", created.body);
        let location = created.headers["location"].to_str().expect("ASCII");
        assert_eq!(client.get(location).await.body, created.body);
        for list in [items_of(escaped), format!("/cart/skus/{escaped}/items")] {
            assert_eq!(client.get(&list).await.body["items"], json!([created.body]));
        }
        let bought = client.post(&checkout_of(escaped), &json!({"expectedTotal": "124887.51"})).await.body;
        let order = client.get(&format!("/cart/accounts/{escaped}/orders/{}", text(&bought, "orderId"))).await;
        assert_eq!((text(&bought, "accountId"), &order.body), (id, &bought));
    }
    shop.stack.stop().await;
}
