//! Tests of the expiry and merging of cart items, and of the capacity of a cart. Purchased items
//! cannot change.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    assert_problem,
    cart::{MAX_ITEMS, STATUSES, Shop, checkout_of, items_of, path, stored},
    clock::{At, DAY, MILLISECOND, time},
    text, texts,
};

const START: &str = "2026-01-02T10:30:00.123Z";
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// Returns the expiry of a cart item with `CartDays` 1: two days after the last renewal, in whole
/// seconds.
fn end(renewed: Timestamp) -> Timestamp {
    let second = Timestamp::from_second(renewed.as_second()).expect("a time");
    second + 2 * DAY
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
        let (account, sku) = (text(cart_item, "accountId"), text(cart_item, "sku"));
        for list in [at.of_account(account, status).await, at.of_sku(sku, status).await] {
            assert!(!texts(&list, "itemId").contains(&text(cart_item, "itemId")), "{status}: {list:?}");
        }
    }
}

/// Checks that the cart item is unchanged. It must be readable by its id, and be in both lists.
async fn assert_there(at: At<'_>, cart_item: &Value) {
    let (status, account, sku) = (text(cart_item, "status"), text(cart_item, "accountId"), text(cart_item, "sku"));
    assert_eq!(at.get(&path(cart_item)).await.body, *cart_item);
    assert!(at.of_account(account, status).await.contains(cart_item));
    assert!(at.of_sku(sku, status).await.contains(cart_item));
}

#[tokio::test]
async fn expired_item_is_hidden_and_not_bought() {
    let shop = Shop::open(1).await;
    let start = time(START);
    let cart_item = shop.at(start).add("A-1", "tea", 3).await;
    for last in [start, start + DAY, end(start) - MILLISECOND] {
        assert_there(shop.at(last), &cart_item).await;
    }
    let before = stored(&shop.stack).await;
    for late in [end(start), end(start) + MILLISECOND, end(start) + 365 * DAY] {
        assert_gone(shop.at(late), &cart_item).await;
        assert_problem(&shop.at(late).post(&checkout_of("A-1"), &json!({})).await, 409, "cart-empty");
    }
    assert_eq!(stored(&shop.stack).await, before, "only TTL deletes expired items");
    shop.stack.stop().await;
}

#[tokio::test]
async fn checkout_buys_only_unexpired_items() {
    let shop = Shop::open(1).await;
    let start = time(START);
    let old = shop.at(start).add("A-1", "tea", 3).await;
    let young = shop.at(start + DAY).add("A-1", "cup", 1).await;
    let bought = shop.at(end(start)).check_out("A-1").await;
    assert_eq!(texts(&bought, "itemId"), [text(&young, "itemId")]);
    assert_gone(shop.at(end(start)), &old).await;
    shop.stack.stop().await;
}

#[tokio::test]
async fn product_of_an_expired_item_is_added_as_a_new_item() {
    let shop = Shop::open(1).await;
    let start = time(START);
    let old = shop.at(start).add("A-1", "tea", 3).await;
    let again = shop.at(end(start)).post(&items_of("A-1"), &json!({"sku": "tea", "quantity": 1})).await;
    assert_eq!((again.status, &again.body["quantity"]), (201, &json!(1)), "{}", again.body);
    assert_ne!(again.body["itemId"], old["itemId"]);
    assert_gone(shop.at(end(start)), &old).await;
    assert_eq!(shop.at(end(start)).of_account("A-1", "ACTIVE").await, [again.body]);
    shop.stack.stop().await;
}

/// Renews the expiry of a cart item that has the quantity two. Returns the changed item.
type Renewal = for<'a> fn(At<'a>, &'a Value) -> futures::future::BoxFuture<'a, Value>;

const RENEWALS: [(&str, Renewal); 4] = [
    ("new quantity", |at, cart_item| {
        Box::pin(async move { at.patch(&path(cart_item), &json!({"quantity": 7})).await.body })
    }),
    ("addition", |at, cart_item| Box::pin(at.add("A-1", text(cart_item, "sku"), 5))),
    ("saved and reactivated", |at, cart_item| {
        Box::pin(async move {
            let saved = at.patch(&path(cart_item), &json!({"status": "SAVED", "quantity": 7})).await.body;
            at.bring_to(&saved, "ACTIVE").await
        })
    }),
    ("merged with a saved item", |at, cart_item| {
        Box::pin(async move {
            let saved = at.bring_to(cart_item, "SAVED").await;
            let there = at.add("A-1", text(cart_item, "sku"), 5).await;
            let sum = at.bring_to(&saved, "ACTIVE").await;
            assert_eq!(sum["itemId"], there["itemId"]);
            sum
        })
    }),
];

#[tokio::test]
async fn change_renews_the_expiry_of_the_item_and_its_pointer() {
    for (name, renew) in RENEWALS {
        let shop = Shop::open(1).await;
        let start = time(START);
        let cart_item = shop.at(start).add("A-1", "tea", 2).await;
        // The last millisecond before the expiry.
        let renewed = end(start) - MILLISECOND;
        let cart_item = renew(shop.at(renewed), &cart_item).await;
        assert_eq!(cart_item["quantity"], 7, "{name}");
        assert_there(shop.at(end(renewed) - MILLISECOND), &cart_item).await;
        assert_gone(shop.at(end(renewed)), &cart_item).await;
        shop.stack.stop().await;
    }
}

#[tokio::test]
async fn saved_and_purchased_items_never_expire() {
    let shop = Shop::open(1).await;
    let start = shop.at(time(START));
    let (mut saved, bought) = (start.add("A-1", "tea", 2).await, start.add("A-1", "cup", 1).await);
    saved = start.bring_to(&saved, "SAVED").await;
    let bought = start.bring_to(&bought, "PURCHASED").await;
    let later = shop.at(time(START) + 3_650 * DAY);
    assert_there(later, &saved).await;
    assert_there(later, &bought).await;
    let changed = later.patch(&path(&saved), &json!({"quantity": 5})).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    let again = shop.at(time(START) + 7_300 * DAY);
    assert_there(again, &changed.body).await;
    // A reactivated item expires like any other item.
    let active = again.bring_to(&changed.body, "ACTIVE").await;
    let renewed = time(START) + 7_300 * DAY;
    assert_there(shop.at(end(renewed) - MILLISECOND), &active).await;
    assert_gone(shop.at(end(renewed)), &active).await;
    shop.stack.stop().await;
}

/// Adds `count` products, numbered from `first`.
async fn add_products(at: At<'_>, account: &str, first: usize, count: usize) -> Vec<Value> {
    let mut cart_items = Vec::new();
    for number in first..first + count {
        cart_items.push(at.add(account, &format!("sku-{number}"), 1).await);
    }
    cart_items
}

#[tokio::test]
async fn cart_of_200_items_is_full_and_bought_at_once() {
    assert_eq!(MAX_ITEMS, 200);
    let shop = Shop::open(1).await;
    let at = shop.at(time(START));
    let saved = at.add("A-1", "saved", 1).await;
    let saved = at.bring_to(&saved, "SAVED").await;
    let cart_items = add_products(at, "A-1", 0, MAX_ITEMS).await;
    let before = stored(&shop.stack).await;
    let new = json!({"sku": "one-more", "quantity": 1});
    assert_problem(&at.post(&items_of("A-1"), &new).await, 409, "cart-full");
    assert_problem(&at.post_once(&items_of("A-1"), "K", &new).await, 409, "cart-full");
    assert_problem(&at.patch(&path(&saved), &json!({"status": "ACTIVE"})).await, 409, "cart-full");
    assert_eq!(stored(&shop.stack).await, before);
    // Adding or merging a product that is already in the cart needs no additional cart item.
    at.add("A-1", "sku-0", 1).await;
    let moved = at.bring_to(&cart_items[0], "SAVED").await;
    at.add("A-1", "sku-0", 3).await;
    assert_eq!(at.bring_to(&moved, "ACTIVE").await["quantity"], 5);
    let bought = at.post_once(&checkout_of("A-1"), "K", &json!({})).await;
    assert_eq!((bought.status, bought.body["items"].as_array().map(Vec::len)), (200, Some(MAX_ITEMS)));
    let listed = at.of_account("A-1", "PURCHASED").await;
    let orders: BTreeSet<_> = listed.iter().map(|cart_item| text(cart_item, "orderId")).collect();
    assert_eq!(orders, BTreeSet::from([text(&bought.body, "orderId")]));
    assert_eq!(texts(&listed, "itemId"), texts(bought.body["items"].as_array().expect("items"), "itemId"));
    assert_eq!(at.of_account("A-1", "ACTIVE").await, Vec::<Value>::new());
    assert_eq!(at.post(&items_of("A-1"), &new).await.status, 201, "the cart has room again");
    shop.stack.stop().await;
}

#[tokio::test]
async fn items_that_leave_a_full_cart_make_room() {
    let shop = Shop::open(1).await;
    let start = time(START);
    let cart_items = add_products(shop.at(start), "A-1", 0, MAX_ITEMS).await;
    let at = shop.at(start + DAY);
    at.bring_to(&cart_items[0], "SAVED").await;
    for removed in &cart_items[1..3] {
        assert_eq!(at.delete(&path(removed)).await.status, 204);
    }
    add_products(at, "A-1", 300, 3).await;
    let new = json!({"sku": "one-more", "quantity": 1});
    assert_problem(&at.post(&items_of("A-1"), &new).await, 409, "cart-full");
    // The remaining items of the first day have expired. They no longer count, although TTL has
    // not deleted them yet.
    let late = shop.at(end(start));
    assert_eq!(late.of_account("A-1", "ACTIVE").await.len(), 3);
    let more = add_products(late, "A-1", 310, MAX_ITEMS - 3).await;
    assert_problem(&late.post(&items_of("A-1"), &new).await, 409, "cart-full");
    assert_eq!(late.delete(&path(&more[0])).await.status, 204);
    assert_eq!(late.bring_to(&cart_items[0], "ACTIVE").await["status"], "ACTIVE");
    assert_eq!(late.check_out("A-1").await.len(), MAX_ITEMS);
    shop.stack.stop().await;
}

#[tokio::test]
async fn rejects_a_quantity_over_9999() {
    let shop = Shop::open(1).await;
    let at = shop.at(time(START));
    let add = async |quantity: u32| at.post(&items_of("A-1"), &json!({"sku": "tea", "quantity": quantity})).await;
    let cart_item = at.add("A-1", "tea", 9_999).await;
    assert_problem(&add(1).await, 409, "quantity-limit");
    let saved = at.bring_to(&cart_item, "SAVED").await;
    let there = at.add("A-1", "tea", 1).await;
    let before = stored(&shop.stack).await;
    assert_problem(&at.patch(&path(&saved), &json!({"status": "ACTIVE"})).await, 409, "quantity-limit");
    assert_problem(&add(9_999).await, 409, "quantity-limit");
    assert_eq!(stored(&shop.stack).await, before);
    assert_eq!(add(9_997).await.body["quantity"], 9_998);
    // A quantity in the request replaces the quantity of the saved item before the merge.
    let joined = at.patch(&path(&saved), &json!({"status": "ACTIVE", "quantity": 1})).await;
    assert_eq!((joined.status, &joined.body["quantity"]), (200, &json!(9_999)), "{}", joined.body);
    assert_eq!(joined.body["itemId"], there["itemId"]);
    shop.stack.stop().await;
}

#[tokio::test]
async fn saved_item_is_merged_into_the_active_item_of_its_product_once() {
    let shop = Shop::open(1).await;
    let at = shop.at(time(START));
    let cart_item = at.add("A-1", "tea", 2).await;
    let saved = at.bring_to(&cart_item, "SAVED").await;
    let there = at.add("A-1", "tea", 3).await;
    assert_ne!(there["itemId"], saved["itemId"]);
    let later = shop.at(time(START) + SECOND);
    let sum = later.bring_to(&saved, "ACTIVE").await;
    let mut wanted = there.clone();
    wanted["quantity"] = json!(5);
    assert_eq!(sum, wanted, "the active item gets the total quantity");
    let after = stored(&shop.stack).await;
    let other = later.patch(&path(&saved), &json!({"status": "ACTIVE", "quantity": 9})).await;
    assert_eq!(other.status, 404, "a request with a different quantity is not a repetition: {}", other.body);
    for body in [json!({"status": "ACTIVE"}), json!({"status": "ACTIVE", "quantity": 2})] {
        let again = later.patch(&path(&saved), &body).await;
        assert_eq!((again.status, &again.body), (200, &sum), "a repeated request must not merge again");
    }
    for body in [json!({"status": "SAVED"}), json!({"quantity": 1})] {
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
