//! Additions to the cart that are repeated after later changes or after a refusal
//! (docs/decisions/idempotency.md).

use serde_json::{Value, json};
use system_tests::{
    Answer, Client, assert_problem,
    cart::{Shop, items_of, path, stock, stored},
    clock::{At, DAY, time},
};

const START: &str = "2026-01-02T10:30:00.123Z";

fn tea(quantity: u32) -> Value {
    json!({"sku": "tea", "quantity": quantity})
}

/// Repeats the addition, which must return the first response and change nothing.
async fn assert_repeats(shop: &Shop, at: At<'_>, first: &Answer, when: &str) {
    let before = stored(&shop.stack).await;
    let again = at.post_once(&items_of("A-1"), "K", &tea(2)).await;
    let said = |answer: &Answer| (answer.status, answer.headers.get("location").cloned(), answer.body.clone());
    assert_eq!(said(&again), said(first), "{when}");
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
        let first = at.post_once(&items_of("A-1"), "K", &tea(2)).await;
        assert_eq!((first.status, &first.body["quantity"]), (status, &json!(there + 2)), "{}", first.body);
        for change in [json!({"quantity": 9}), json!({"status": "SAVED"}), json!({"status": "ACTIVE"})] {
            assert_eq!(later.patch(&path(&first.body), &change).await.status, 200);
            assert_repeats(&shop, later, &first, &change.to_string()).await;
        }
        let saved = later.bring_to(&first.body, "SAVED").await;
        later.add("A-1", "tea", 1).await;
        later.bring_to(&saved, "ACTIVE").await;
        assert_repeats(&shop, later, &first, "merged into another item").await;
        later.check_out("A-1").await;
        assert_repeats(&shop, later, &first, "bought").await;
        shop.stack.stop().await;
    }
}

#[tokio::test]
async fn rejected_addition_does_not_consume_its_key() {
    let shop = Shop::open(30).await;
    let (at, items) = (shop.at(time(START)), items_of("A-1"));
    let stranger = Client::caller(&shop.stack, "cart:write", &["A-2"]);
    assert_problem(&stranger.post_once(&items, "K", &tea(1)).await, 403, "forbidden");
    assert_problem(&at.post_once(&items, "K", &json!({"sku": ""})).await, 400, "invalid-request");
    assert_problem(&at.post_once(&items, "K", &json!({"sku": "unknown"})).await, 409, "product-unavailable");
    // Both ids are valid, and together they are too long.
    let long = "\u{20ac}".repeat(128);
    stock(&shop.stack, [&long]).await;
    assert_problem(&at.post_once(&items_of(&long), "K", &json!({"sku": long})).await, 413, "too-large");
    assert_eq!(stored(&shop.stack).await.len(), 0);
    let cart_item = at.add("A-1", "tea", 9_999).await;
    assert_problem(&at.post_once(&items, "K", &tea(2)).await, 409, "quantity-limit");
    at.patch(&path(&cart_item), &json!({"quantity": 1})).await;
    let grown = at.post_once(&items, "K", &tea(2)).await;
    assert_eq!((grown.status, &grown.body["quantity"]), (200, &json!(3)), "the same request, now within the limit");
    shop.stack.stop().await;
}
