//! Each role on each route of the cart (docs/requirements/cart.md#permissions).

use local::Auth;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use system_tests::{
    Client,
    cart::{checkout_of, items_of, path},
    roles::{Attempt, OTHER, OWN, Outcome, check},
    stack, text,
};

const READ: &[&str] = &["cart:read", "cart:operate"];
const WRITE: &[&str] = &["cart:write", "cart:operate"];
const ITEMS: &str = "POST /cart/accounts/{accountId}/items";
const ITEM: &str = "PATCH /cart/accounts/{accountId}/items/{itemId}";
const NOBODYS: &str = "0192f3a1b2c37d5e8f90a1b2c3d4e5f6";

fn attempts() -> Vec<Attempt> {
    use Outcome::{Conflict, Done};
    let add = || Attempt::of_customers(ITEMS, WRITE);
    let change = || Attempt::of_customers(ITEM, WRITE);
    let by_operator = |route| Attempt::of_operators(route, WRITE);
    let priced = json!({"sku": "secret", "quantity": 1, "price": "0.01", "currency": "USD"});
    vec![
        // The first attempt, because later ones add items to the account that nobody has.
        Attempt::of_customers("POST /cart/accounts/{accountId}/checkout", WRITE)
            .with("ACTIVE", Value::Null)
            .gets(Done, Conflict),
        add().with("", json!({"sku": "secret", "quantity": 1})),
        by_operator(ITEMS).with("", priced),
        Attempt::of_customers("GET /cart/accounts/{accountId}/items", READ),
        Attempt::of_customers("GET /cart/accounts/{accountId}/items/{itemId}", READ).with("ACTIVE", Value::Null),
        Attempt::of_operators("GET /cart/skus/{sku}/items", &["cart:operate"]).gets(Done, Done),
        change().with("ACTIVE", json!({"quantity": 3})),
        change().with("ACTIVE", json!({"status": "SAVED"})),
        change().with("SAVED", json!({"status": "ACTIVE", "quantity": 2})),
        change().with("PURCHASED", json!({"quantity": 2})).gets(Conflict, Outcome::Missing),
        by_operator(ITEM).with("ACTIVE", json!({"status": "PURCHASED"})),
        by_operator(ITEM).with("SAVED", json!({"status": "PURCHASED", "quantity": 2})),
        by_operator(ITEM).with("ACTIVE", json!({"status": "PURCHASED", "orderId": "O-of-another-customer"})),
        by_operator(ITEM)
            .with("PURCHASED", json!({"status": "PURCHASED", "orderId": "O-1"}))
            .gets(Conflict, Outcome::Missing),
        Attempt::of_customers("DELETE /cart/accounts/{accountId}/items/{itemId}", WRITE).with("ACTIVE", Value::Null),
    ]
}

#[tokio::test]
async fn each_role_may_do_what_the_table_of_actors_says() {
    let stack = stack().auth(Auth::Required).start().await.expect("a stack");
    let operator = Client::caller(&stack, "cart:operate", &[]);
    let number = AtomicUsize::new(0);
    let make = async |account: &str, state: &str| {
        if state.is_empty() {
            return "secret".to_owned();
        }
        // Makes room, because a cart has a maximum number of ACTIVE items.
        operator.post(&checkout_of(account), &json!({})).await;
        let sku = format!("secret-{}", number.fetch_add(1, Ordering::Relaxed));
        let added = operator.post(&items_of(account), &json!({"sku": sku, "quantity": 1})).await;
        assert_eq!(added.status, 201, "{}", added.body);
        let moved = operator.patch(&path(&added.body), &json!({"status": state})).await;
        assert_eq!(moved.status, 200, "{}", moved.body);
        text(&added.body, "itemId").to_owned()
    };
    check(&stack, "cart", &attempts(), NOBODYS, make).await;
    stack.stop().await;
}

#[tokio::test]
async fn a_customer_keeps_the_price_that_an_operator_set() {
    let stack = stack().auth(Auth::Required).start().await.expect("a stack");
    let operator = Client::caller(&stack, "cart:operate", &[]);
    let customer = Client::caller(&stack, "cart:read cart:write", &[OWN]);
    let add = async |client: &Client, more: Value| {
        let mut body = json!({"sku": "tea", "quantity": 1});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        client.post(&items_of(OWN), &body).await
    };
    let added = add(&customer, json!({})).await;
    assert_eq!((added.status, &added.body["price"]), (201, &Value::Null));
    let price = json!({"price": "12.49", "currency": "USD"});
    assert_eq!(add(&customer, price.clone()).await.status, 403);
    assert_eq!(add(&operator, price).await.body["price"], "12.49");
    let added = add(&customer, json!({})).await;
    assert_eq!((&added.body["price"], &added.body["quantity"]), (&json!("12.49"), &json!(3)));
    let bought = customer.post(&checkout_of(OWN), &json!({})).await;
    assert_eq!((bought.status, &bought.body["items"][0]["price"]), (200, &json!("12.49")));
    assert_eq!(customer.get(&items_of(OTHER)).await.status, 403);
    stack.stop().await;
}
