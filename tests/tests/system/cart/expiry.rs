//! Expiry of cart items, the capacity of a cart and the maximum quantity, and saved items that
//! return to the cart (docs/decisions/cart-contents.md).

use jiff::Timestamp;
use serde_json::{Value, json};
use system_tests::{
    Answer, assert_problem,
    cart::{MAX_ITEMS, STATUSES, Shop, checkout_of, items_of, path, stored},
    clock::{At, DAY, MILLISECOND, time},
    text, texts,
};

const START: &str = "2026-01-02T10:30:00.123Z";

/// Returns the expiry of a cart item with `CartDays` 1: two days after the last renewal, in whole
/// seconds.
fn end(renewed: Timestamp) -> Timestamp {
    Timestamp::from_second(renewed.as_second()).expect("a time") + 2 * DAY
}

async fn post(at: At<'_>, sku: &str, quantity: usize) -> Answer {
    at.post(&items_of("A-1"), &json!({"sku": sku, "quantity": quantity})).await
}

/// Checks that no request can read or change the cart item.
async fn assert_gone(at: At<'_>, cart_item: &Value) {
    let path = path(cart_item);
    assert_problem(&at.get(&path).await, 404, "not-found");
    for change in [json!({"quantity": 2}), json!({"status": "SAVED"}), json!({"status": "ACTIVE"})] {
        assert_problem(&at.patch(&path, &change).await, 404, "not-found");
    }
    assert_problem(&at.delete(&path).await, 404, "not-found");
    for status in STATUSES {
        let of_sku = at.of_sku(text(cart_item, "sku"), status).await;
        for list in [at.of_account("A-1", status).await, of_sku] {
            assert!(!texts(&list, "itemId").contains(&text(cart_item, "itemId")), "{status}: {list:?}");
        }
    }
}

/// Checks that the cart item is unchanged. It must be readable by its id, and be in both lists.
async fn assert_there(at: At<'_>, cart_item: &Value) {
    let (status, sku) = (text(cart_item, "status"), text(cart_item, "sku"));
    assert_eq!(at.get(&path(cart_item)).await.body, *cart_item);
    assert!(at.of_account("A-1", status).await.contains(cart_item));
    assert!(at.of_sku(sku, status).await.contains(cart_item));
}

#[tokio::test]
async fn an_expired_item_is_hidden_and_not_bought() {
    let shop = Shop::open(1).await;
    let start = time(START);
    let old = shop.at(start).add("A-1", "tea", 3).await;
    for last in [start + DAY, end(start) - MILLISECOND] {
        assert_there(shop.at(last), &old).await;
    }
    let before = stored(&shop.stack).await;
    for late in [end(start), end(start) + 365 * DAY] {
        assert_gone(shop.at(late), &old).await;
        assert_problem(&shop.at(late).post(&checkout_of("A-1"), &json!({})).await, 409, "cart-empty");
    }
    assert_eq!(stored(&shop.stack).await, before, "only TTL deletes expired items");
    let cup = shop.at(start + DAY).add("A-1", "cup", 1).await;
    let late = shop.at(end(start));
    assert_eq!(texts(&late.check_out("A-1").await, "itemId"), [text(&cup, "itemId")]);
    // The product of the expired item is added as a new item.
    let again = post(late, "tea", 1).await;
    assert_eq!((again.status, &again.body["quantity"]), (201, &json!(1)), "{}", again.body);
    assert_gone(late, &old).await;
    assert_eq!(late.of_account("A-1", "ACTIVE").await, [again.body]);
    shop.stack.stop().await;
}

/// Changes of an item with the quantity 2, after which an item of its product has the quantity 7.
/// `null` adds the product.
fn renewals() -> [Vec<Value>; 4] {
    let (saved, active, add) = (json!({"status": "SAVED"}), json!({"status": "ACTIVE"}), Value::Null);
    [
        vec![json!({"quantity": 7})],
        vec![add.clone()],
        vec![json!({"status": "SAVED", "quantity": 7}), active.clone()],
        vec![saved, add, active],
    ]
}

#[tokio::test]
async fn a_change_renews_the_expiry_of_the_item_and_its_pointer() {
    let shop = Shop::open(1).await;
    let start = time(START);
    // The last millisecond before the expiry.
    let renewed = end(start) - MILLISECOND;
    for (changes, sku) in renewals().into_iter().zip(["tea", "cup", "pot", "left"]) {
        let item = path(&shop.at(start).add("A-1", sku, 2).await);
        let mut changed = Value::Null;
        for change in &changes {
            let at = shop.at(renewed);
            let answer = if change.is_null() { post(at, sku, 5).await } else { at.patch(&item, change).await };
            assert!(answer.status < 300, "{changes:?}: {}", answer.body);
            changed = answer.body;
        }
        assert_eq!(changed["quantity"], 7, "{changes:?}");
        assert_there(shop.at(end(renewed) - MILLISECOND), &changed).await;
        assert_gone(shop.at(end(renewed)), &changed).await;
    }
    shop.stack.stop().await;
}

/// A renewal within a day would write the pointer of the item for nothing.
#[tokio::test]
async fn a_new_quantity_renews_the_expiry_at_most_once_a_day() {
    let shop = Shop::open(1).await;
    let start = time(START);
    for (sku, later, is_renewed) in [("tea", DAY, false), ("cup", DAY + 1_000 * MILLISECOND, true)] {
        let item = path(&shop.at(start).add("A-1", sku, 2).await);
        let changed = shop.at(start + later).patch(&item, &json!({"quantity": 3})).await.body;
        let late = shop.at(end(start));
        if is_renewed { assert_there(late, &changed).await } else { assert_gone(late, &changed).await }
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn saved_and_purchased_items_never_expire() {
    let shop = Shop::open(1).await;
    let start = shop.at(time(START));
    let (saved, bought) = (start.add("A-1", "tea", 2).await, start.add("A-1", "cup", 1).await);
    let saved = start.bring_to(&saved, "SAVED").await;
    let bought = start.bring_to(&bought, "PURCHASED").await;
    let renewed = time(START) + 3_650 * DAY;
    let later = shop.at(renewed);
    assert_there(later, &saved).await;
    assert_there(later, &bought).await;
    // A reactivated item expires like any other item.
    let active = later.bring_to(&saved, "ACTIVE").await;
    assert_there(shop.at(end(renewed) - MILLISECOND), &active).await;
    assert_gone(shop.at(end(renewed)), &active).await;
    shop.stack.stop().await;
}

/// Adds products with these numbers.
async fn add_products(at: At<'_>, numbers: std::ops::Range<usize>) -> Vec<Value> {
    let mut cart_items = Vec::new();
    for number in numbers {
        cart_items.push(at.add("A-1", &format!("sku-{number}"), 1).await);
    }
    cart_items
}

#[tokio::test]
async fn a_cart_of_200_items_is_full_until_items_leave_it() {
    assert_eq!(MAX_ITEMS, 200);
    let shop = Shop::open(1).await;
    let start = time(START);
    let first = add_products(shop.at(start), 0..200).await;
    let at = shop.at(start + DAY);
    let saved = at.bring_to(&first[0], "SAVED").await;
    at.add("A-1", "tea", 1).await;
    let before = stored(&shop.stack).await;
    assert_problem(&post(at, "cup", 1).await, 409, "cart-full");
    assert_problem(&at.patch(&path(&saved), &json!({"status": "ACTIVE"})).await, 409, "cart-full");
    assert_eq!(stored(&shop.stack).await, before);
    // A product that is in the cart needs no additional cart item.
    at.add("A-1", "tea", 2).await;
    for removed in &first[1..3] {
        assert_eq!(at.delete(&path(removed)).await.status, 204);
    }
    add_products(at, 300..302).await;
    assert_problem(&post(at, "cup", 1).await, 409, "cart-full");
    // The other items of the first day have expired. They no longer count, although TTL has not
    // deleted them yet.
    let late = shop.at(end(start));
    assert_eq!(late.of_account("A-1", "ACTIVE").await.len(), 3);
    add_products(late, 310..506).await;
    late.bring_to(&saved, "ACTIVE").await;
    assert_problem(&post(late, "cup", 1).await, 409, "cart-full");
    assert_eq!(late.check_out("A-1").await.len(), MAX_ITEMS);
    assert_eq!(post(late, "cup", 1).await.status, 201, "the cart has room again");
    shop.stack.stop().await;
}

#[tokio::test]
async fn rejects_a_quantity_over_9999() {
    let shop = Shop::open(1).await;
    let at = shop.at(time(START));
    let cart_item = at.add("A-1", "tea", 9_999).await;
    assert_problem(&post(at, "tea", 1).await, 409, "quantity-limit");
    let saved = at.bring_to(&cart_item, "SAVED").await;
    let there = at.add("A-1", "tea", 1).await;
    let before = stored(&shop.stack).await;
    assert_problem(&at.patch(&path(&saved), &json!({"status": "ACTIVE"})).await, 409, "quantity-limit");
    assert_problem(&post(at, "tea", 9_999).await, 409, "quantity-limit");
    assert_eq!(stored(&shop.stack).await, before);
    assert_eq!(post(at, "tea", 9_997).await.body["quantity"], 9_998);
    // A quantity in the request replaces the quantity of the saved item before the merge.
    let joined = at.patch(&path(&saved), &json!({"status": "ACTIVE", "quantity": 1})).await;
    assert_eq!((&joined.body["itemId"], &joined.body["quantity"]), (&there["itemId"], &json!(9_999)));
    shop.stack.stop().await;
}

#[tokio::test]
async fn saved_item_is_merged_into_the_active_item_of_its_product_once() {
    let shop = Shop::open(1).await;
    let at = shop.at(time(START));
    let cart_item = at.add("A-1", "tea", 2).await;
    let saved = at.bring_to(&cart_item, "SAVED").await;
    let mut wanted = at.add("A-1", "tea", 3).await;
    assert_ne!(wanted["itemId"], saved["itemId"]);
    let later = shop.at(time(START) + 1_000 * MILLISECOND);
    let sum = later.bring_to(&saved, "ACTIVE").await;
    wanted["quantity"] = json!(5);
    assert_eq!(sum, wanted, "the active item gets the total quantity");
    let after = stored(&shop.stack).await;
    for body in [json!({"status": "ACTIVE"}), json!({"status": "ACTIVE", "quantity": 2})] {
        let again = later.patch(&path(&saved), &body).await;
        assert_eq!((again.status, &again.body), (200, &sum), "a repeated request must not merge again");
    }
    // A request with a different quantity is not a repetition.
    for body in [json!({"status": "ACTIVE", "quantity": 9}), json!({"status": "SAVED"}), json!({"quantity": 1})] {
        assert_problem(&later.patch(&path(&saved), &body).await, 404, "not-found");
    }
    assert_problem(&later.get(&path(&saved)).await, 404, "not-found");
    assert_problem(&later.delete(&path(&saved)).await, 404, "not-found");
    assert_eq!(stored(&shop.stack).await, after);
    assert_eq!(later.of_account("A-1", "ACTIVE").await, [sum]);
    assert_eq!(later.of_account("A-1", "SAVED").await, Vec::<Value>::new());
    later.check_out("A-1").await;
    // The active item was bought, so the request can no longer return it.
    assert_problem(&later.patch(&path(&saved), &json!({"status": "ACTIVE"})).await, 404, "not-found");
    shop.stack.stop().await;
}
