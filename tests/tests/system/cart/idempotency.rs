//! Additions to the cart that are repeated after later changes or after a refusal
//! (docs/decisions/cart-idempotency.md).

use serde_json::{Value, json};
use system_tests::{
    Answer, Client, assert_problem,
    cart::{MAX_ITEMS, Shop, items_of, path, stock, stored},
    clock::{At, DAY, time},
};

const START: &str = "2026-01-02T10:30:00.123Z";

/// Returns the parts of a response that a repeated request must return again.
fn said(answer: &Answer) -> (u16, Option<&str>, &Value) {
    let location = answer.headers.get("location").and_then(|location| location.to_str().ok());
    (answer.status, location, &answer.body)
}

fn tea(quantity: u32) -> Value {
    json!({"sku": "tea", "quantity": quantity})
}

/// Repeats the addition, which must return the first response and change nothing.
async fn assert_repeats(shop: &Shop, at: At<'_>, body: &Value, first: &Answer, when: &str) {
    let before = stored(&shop.stack).await;
    for _ in 0..2 {
        let again = at.post_once(&items_of("A-1"), "K", body).await;
        assert_eq!(said(&again), said(first), "{when}");
    }
    assert!(stored(&shop.stack).await == before, "{when}");
}

#[tokio::test]
async fn repeated_addition_gets_the_first_response_after_later_changes() {
    for (there, status) in [(0, 201), (3, 200)] {
        let shop = Shop::open(30).await;
        let (at, later) = (shop.at(time(START)), shop.at(time(START) + DAY));
        if there > 0 {
            at.add("A-1", "tea", there).await;
        }
        let body = tea(2);
        let first = at.post_once(&items_of("A-1"), "K", &body).await;
        assert_eq!((first.status, &first.body["quantity"]), (status, &json!(there + 2)), "{}", first.body);
        let location = first.headers.get("location").map(|location| location.to_str().expect("ASCII").to_owned());
        assert_eq!(location, (status == 201).then(|| path(&first.body)));
        assert_repeats(&shop, later, &body, &first, "no change").await;
        let cart_item = path(&first.body);
        for change in [json!({"quantity": 9}), json!({"status": "SAVED"}), json!({"status": "ACTIVE"})] {
            assert_eq!(later.patch(&cart_item, &change).await.status, 200);
            assert_repeats(&shop, later, &body, &first, &change.to_string()).await;
        }
        later.add("A-1", "tea", 1).await;
        assert_repeats(&shop, later, &body, &first, "larger quantity").await;
        let saved = later.bring_to(&first.body, "SAVED").await;
        later.add("A-1", "tea", 1).await;
        later.bring_to(&saved, "ACTIVE").await;
        assert_repeats(&shop, later, &body, &first, "merged into another item").await;
        later.check_out("A-1").await;
        assert_repeats(&shop, later, &body, &first, "bought").await;
        shop.stack.stop().await;
    }
}

#[tokio::test]
async fn rejected_addition_does_not_consume_its_key() {
    let shop = Shop::open(30).await;
    let at = shop.at(time(START));
    let items = items_of("A-1");
    let stranger = Client::caller(&shop.stack, "cart:write", &["A-2"]);
    let unknown = json!({"sku": "tea", "quantity": 2, "colour": "red"});
    assert_problem(&at.post_once(&items, "K", &unknown).await, 400, "invalid-request");
    assert_problem(&stranger.post_once(&items, "K", &tea(1)).await, 403, "forbidden");
    let long = "\u{20ac}".repeat(128);
    let too_long = json!({"sku": long, "quantity": 1});
    stock(&shop.stack, [&long]).await;
    assert_problem(&at.post_once(&items, "K", &json!({"sku": "unknown"})).await, 409, "product-unavailable");
    assert_problem(&at.post_once(&items_of(&long), "K", &too_long).await, 413, "too-large");
    assert_eq!(stored(&shop.stack).await.len(), 0);
    let cart_item = at.add("A-1", "tea", 9_999).await;
    assert_problem(&at.post_once(&items, "K", &tea(2)).await, 409, "quantity-limit");
    at.patch(&path(&cart_item), &json!({"quantity": 1})).await;
    let grown = at.post_once(&items, "K", &tea(2)).await;
    assert_eq!((grown.status, &grown.body["quantity"]), (200, &json!(3)), "the same request, now within the limit");
    for number in 1..MAX_ITEMS {
        at.add("A-1", &format!("sku-{number}"), 1).await;
    }
    let one_more = json!({"sku": "one-more", "quantity": 1});
    assert_problem(&at.post_once(&items, "full", &one_more).await, 409, "cart-full");
    at.bring_to(&cart_item, "SAVED").await;
    let other = json!({"sku": "another", "quantity": 1});
    assert_eq!(at.post_once(&items, "full", &other).await.status, 201, "a different request can use the key");
    assert_problem(&at.post_once(&items, "full", &one_more).await, 422, "idempotency-key-reused");
    shop.stack.stop().await;
}
