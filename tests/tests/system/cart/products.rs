//! Products: versions, visibility, and their prices in the cart
//! (docs/requirements/cart.md#products-and-prices).

use futures::future::join_all;
use local::Rates;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Client, assert_problem,
    cart::{Shop, items_of, path, product, put_products, stack},
    texts,
};

const TEA: &str = "/cart/products/tea";

fn tea(price: &str, more: &Value) -> Value {
    let mut body = json!({"name": "Green tea", "price": price, "currency": "USD"});
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    body
}

async fn put(client: &Client, path: &str, body: &Value) -> Value {
    let answer = client.put(path, body).await;
    assert!(matches!(answer.status, 200 | 201), "{path} {body}: {}", answer.body);
    answer.body
}

#[tokio::test]
async fn each_change_of_a_product_has_a_version() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let created = client.put(TEA, &tea("4.5", &json!({}))).await;
    let stored = |version: i64, price: &str, active: bool| {
        json!({"sku": "tea", "name": "Green tea", "price": price, "currency": "USD", "active": active,
            "version": version})
    };
    assert_eq!((created.status, &created.body), (201, &stored(1, "4.50", true)), "{}", created.body);
    assert_eq!(created.headers["location"], TEA);
    for (body, wanted) in [
        (tea("4.50", &json!({})), stored(1, "4.50", true)),
        (tea("4.60", &json!({"version": 1})), stored(2, "4.60", true)),
        (tea("4.70", &json!({})), stored(3, "4.70", true)),
        (tea("4.70", &json!({"active": false, "version": 3})), stored(4, "4.70", false)),
        // A repeated request changes nothing, although its version is old.
        (tea("4.70", &json!({"active": false, "version": 3})), stored(4, "4.70", false)),
    ] {
        assert_eq!(put(&client, TEA, &body).await, wanted, "{body}");
        assert_eq!(client.get(TEA).await.body, wanted);
    }
    assert_problem(&client.put(TEA, &tea("9", &json!({"version": 3}))).await, 412, "another-version");
    let changes = (0..10).map(|number| tea(&format!("{number}"), &json!({"version": 4})));
    let answers = join_all(changes.map(async |body| client.put(TEA, &body).await.status)).await;
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 1, "one change per version: {answers:?}");
    let changes = (0..10).map(|number| tea(&format!("1{number}"), &json!({})));
    join_all(changes.map(async |body| put(&client, TEA, &body).await)).await;
    assert_eq!(client.get(TEA).await.body["version"], 15);
    stack.stop().await;
}

/// An eventually consistent read misses a new product for a moment.
#[tokio::test]
async fn a_new_product_can_be_added_immediately() {
    let rates = Rates { stale: 1.0, ..Rates::default() };
    let stack = stack().hostile(1, rates).start().await.expect("a stack");
    let client = Client::operator(&stack);
    for number in 0..10 {
        let sku = format!("tea-{number}");
        put(&client, &format!("/cart/products/{sku}"), &tea("4.50", &json!({}))).await;
        let added = client.post(&items_of("Ann"), &json!({"sku": sku})).await;
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
        for limit in [1, 7, 100] {
            let (listed, _) = client.all(&format!("/cart/products?limit={limit}")).await;
            let skus = texts(&listed, "sku");
            assert!(skus.is_sorted() && listed.len() == wanted, "{limit}: {skus:?}");
            assert_eq!(skus.iter().collect::<BTreeSet<_>>().len(), wanted);
        }
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
    put(&shop.now, TEA, &tea("4.50", &json!({}))).await;
    let add = async || customer.post(&items_of("A-1"), &json!({"sku": "tea"})).await.body;
    let added = add().await;
    assert_eq!((&added["name"], &added["price"], &added["quantity"]), (&json!("Green tea"), &json!("4.50"), &json!(1)));
    let marked = |changed: Option<bool>, unavailable: Option<bool>| {
        let mut wanted = added.clone();
        let marks = [("priceChanged", changed), ("unavailable", unavailable)];
        let marks = marks.into_iter().filter_map(|(name, mark)| Some((name.to_owned(), mark?.into())));
        wanted.as_object_mut().expect("an object").extend(marks);
        wanted
    };
    for (product, changed, unavailable) in [
        (tea("4.60", &json!({})), Some(true), None),
        (tea("4.60", &json!({"active": false})), None, Some(true)),
        (tea("4.50", &json!({})), None, None),
        (json!({"name": "Black tea", "price": "4.50", "currency": "USD"}), None, None),
    ] {
        put(&shop.now, TEA, &product).await;
        let wanted = marked(changed, unavailable);
        assert_eq!(customer.get(&path(&added)).await.body, wanted, "{product}");
        assert_eq!(customer.get(&items_of("A-1")).await.body["items"], json!([wanted]), "{product}");
        assert_eq!(shop.now.get("/cart/skus/tea/items").await.body["items"], json!([wanted]), "{product}");
    }
    // A saved item keeps its price and is marked, too. Another addition takes the new price.
    put(&shop.now, TEA, &tea("5.00", &json!({}))).await;
    let saved = customer.patch(&path(&added), &json!({"status": "SAVED"})).await;
    assert_eq!((saved.status, &saved.body["price"]), (200, &json!("4.50")));
    let list = customer.get(&format!("{}?status=SAVED", items_of("A-1"))).await.body;
    assert_eq!((&list["items"][0]["priceChanged"], &list["items"][0]["price"]), (&json!(true), &json!("4.50")));
    customer.patch(&path(&added), &json!({"status": "ACTIVE"})).await;
    let more = add().await;
    assert_eq!((&more["price"], &more["quantity"], &more["itemId"]), (&json!("5.00"), &json!(2), &added["itemId"]));
    shop.stack.stop().await;
}

#[tokio::test]
async fn a_cart_has_one_currency() {
    let shop = Shop::open(30).await;
    let in_yen = json!({"name": "Cup", "price": "1200", "currency": "JPY"});
    put(&shop.now, "/cart/products/cup", &in_yen).await;
    let at = |account: &str| (account.to_owned(), items_of(account));
    let (_, items) = at("A-1");
    let cup = shop.now.post(&items, &json!({"sku": "cup"})).await.body;
    assert_problem(&shop.now.post(&items, &json!({"sku": "tea"})).await, 409, "cart-currency");
    shop.now.patch(&path(&cup), &json!({"status": "SAVED"})).await;
    assert_eq!(shop.now.post(&items, &json!({"sku": "tea"})).await.status, 201, "saved items do not count");
    assert_problem(&shop.now.patch(&path(&cup), &json!({"status": "ACTIVE"})).await, 409, "cart-currency");
    // The only item of a cart may change its currency with its product.
    let (_, items) = at("A-2");
    shop.now.post(&items, &json!({"sku": "tea"})).await;
    put(&shop.now, TEA, &json!({"name": "Tea", "price": "3", "currency": "EUR"})).await;
    let more = shop.now.post(&items, &json!({"sku": "tea"})).await;
    assert_eq!((more.status, &more.body["currency"]), (200, &json!("EUR")), "{}", more.body);
    shop.stack.stop().await;
}
