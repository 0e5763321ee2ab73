//! Each role on each route of the cart (docs/requirements/cart.md#permissions).

use local::Auth;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use system_tests::{
    Client,
    cart::{checkout_of, items_of, path, stock, stocked},
    roles::{Attempt, Outcome, check},
    stack, text,
};

const READ: &[&str] = &["cart:read", "cart:operate"];
const WRITE: &[&str] = &["cart:write", "cart:operate"];
const ITEMS: &str = "POST /cart/accounts/{accountId}/items";
const ITEM: &str = "PATCH /cart/accounts/{accountId}/items/{itemId}";
const ORDER: &str = "PATCH /cart/accounts/{accountId}/orders/{orderId}";
const NOBODYS: &str = "0192f3a1b2c37d5e8f90a1b2c3d4e5f6";

fn attempts() -> Vec<Attempt> {
    use Outcome::{Conflict, Done};
    let add = || Attempt::of_customers(ITEMS, WRITE);
    let change = || Attempt::of_customers(ITEM, WRITE);
    let order = || Attempt::of_customers(ORDER, WRITE);
    let jobs = |route| Attempt::of_operators(route, &["cart:operate"]);
    let product = json!({"name": "Secret", "price": "12.49", "currency": "USD", "active": false});
    let products = |route| Attempt::of_customers(route, READ);
    vec![
        // The first attempt, because later ones add items to the account that nobody has.
        Attempt::of_customers("POST /cart/accounts/{accountId}/checkout", WRITE)
            .with("ACTIVE", Value::Null)
            .gets(Done, Conflict),
        add().with("", json!({"sku": "secret", "quantity": 1})),
        products("GET /cart/products/{sku}").with("PRODUCT", Value::Null),
        products("GET /cart/products"),
        Attempt::of_customers("GET /cart/accounts/{accountId}/items", READ),
        Attempt::of_customers("GET /cart/accounts/{accountId}/items/{itemId}", READ).with("ACTIVE", Value::Null),
        Attempt::of_operators("GET /cart/skus/{sku}/items", &["cart:operate"]).gets(Done, Done),
        change().with("ACTIVE", json!({"quantity": 3})),
        change().with("ACTIVE", json!({"status": "SAVED"})),
        change().with("SAVED", json!({"status": "ACTIVE", "quantity": 2})),
        change().with("PURCHASED", json!({"quantity": 2})).gets(Conflict, Outcome::Missing),
        Attempt::of_customers("GET /cart/accounts/{accountId}/orders", READ),
        Attempt::of_customers("GET /cart/accounts/{accountId}/orders/{orderId}", READ).with("PLACED", Value::Null),
        order().with("PLACED", json!({"status": "CANCELLED"})),
        order().with("SHIPPED", json!({"status": "CANCELLED"})).gets(Conflict, Outcome::Missing),
        Attempt::of_operators(ORDER, WRITE).with("PLACED", json!({"status": "SHIPPED"})),
        Attempt::of_operators(ORDER, WRITE).with("SHIPPED", json!({"status": "DELIVERED"})),
        // An operator may merge any carts. A customer owns only one of these, so both get the same.
        Attempt::of_operators("POST /cart/accounts/{accountId}/merge", WRITE)
            .with("", json!({"fromAccountId": "guest"}))
            .gets(Done, Done),
        jobs("GET /cart/jobs/{jobId}").gets(Outcome::Missing, Outcome::Missing),
        jobs("POST /cart/jobs/{jobId}/retry").gets(Outcome::Missing, Outcome::Missing),
        Attempt::of_customers("DELETE /cart/accounts/{accountId}/items/{itemId}", WRITE).with("ACTIVE", Value::Null),
        // The last attempt, because it creates the product that nobody has.
        Attempt::of_operators("PUT /cart/products/{sku}", &["cart:operate"]).with("", product).gets(Done, Done),
    ]
}

#[tokio::test]
async fn each_role_may_do_what_the_table_of_actors_says() {
    let stack = stocked(stack().auth(Auth::Required)).await;
    let operator = Client::caller(&stack, "cart:operate", &[]);
    let number = AtomicUsize::new(0);
    let make = async |account: &str, state: &str| {
        if state.is_empty() || state == "PRODUCT" {
            return if state.is_empty() { "secret" } else { "tea" }.to_owned();
        }
        // Makes room, because a cart has a maximum number of ACTIVE items.
        operator.post(&checkout_of(account), &json!({})).await;
        let sku = format!("secret-{}", number.fetch_add(1, Ordering::Relaxed));
        stock(&stack, [&sku]).await;
        let added = operator.post(&items_of(account), &json!({"sku": sku, "quantity": 1})).await;
        assert_eq!(added.status, 201, "{}", added.body);
        if ["ACTIVE", "SAVED"].contains(&state) {
            let moved = operator.patch(&path(&added.body), &json!({"status": state})).await;
            assert_eq!(moved.status, 200, "{}", moved.body);
            return text(&added.body, "itemId").to_owned();
        }
        let order = text(&operator.post(&checkout_of(account), &json!({})).await.body, "orderId").to_owned();
        if state == "SHIPPED" {
            let path = format!("/cart/accounts/{account}/orders/{order}");
            assert_eq!(operator.patch(&path, &json!({"status": state})).await.status, 200);
        }
        if state == "PURCHASED" { text(&added.body, "itemId").to_owned() } else { order }
    };
    check(&stack, "cart", &attempts(), NOBODYS, make).await;
    stack.stop().await;
}
