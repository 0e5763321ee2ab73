//! Content, order and paging of the cart's lists
//! (docs/requirements/cart.md#access-pattern-3-list-items-of-a-product).

use jiff::SignedDuration;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use system_tests::{
    cart::{STATUSES, Shop, items_of, path},
    clock::{DAY, MILLISECOND, time},
    text, texts,
};

const START: &str = "2026-01-02T10:30:00.123Z";

#[tokio::test]
async fn lists_are_newest_first_by_the_last_status_change() {
    let shop = Shop::open(30).await;
    let minute = |minute: i64| shop.at(time(START) + SignedDuration::from_mins(minute));
    let mut cart_items = BTreeMap::new();
    for (number, sku) in (0..).zip(["a", "b", "c", "d", "e", "f"]) {
        cart_items.insert(sku, minute(number).add("A-1", sku, 1).await);
    }
    let skus = async |status: &str| texts(&minute(60).of_account("A-1", status).await, "sku").join(" ");
    assert_eq!(skus("ACTIVE").await, "f e d c b a");
    for (at, sku, status) in [(10, "c", "SAVED"), (11, "a", "SAVED"), (12, "e", "SAVED"), (13, "b", "PURCHASED")] {
        let moved = minute(at).bring_to(&cart_items[sku], status).await;
        assert_eq!(time(text(&moved, "statusChangedAt")), time(START) + SignedDuration::from_mins(at));
        assert!(["addedAt", "itemId"].iter().all(|name| moved[name] == cart_items[sku][name]), "{moved}");
    }
    assert_eq!(skus("SAVED").await, "e a c", "by the time of saving, not of adding");
    // A change of quantity keeps the position. An item that returns to the cart is the newest.
    minute(20).patch(&path(&cart_items["d"]), &json!({"quantity": 3})).await;
    minute(21).add("A-1", "d", 1).await;
    minute(22).bring_to(&cart_items["a"], "ACTIVE").await;
    assert_eq!(skus("ACTIVE").await, "a f d");
    minute(30).bring_to(&cart_items["c"], "PURCHASED").await;
    assert_eq!((skus("PURCHASED").await, skus("SAVED").await), ("c b".to_owned(), "e".to_owned()));
    for status in STATUSES {
        for item in minute(60).of_account("A-1", status).await {
            assert_eq!(
                minute(60).of_sku(text(&item, "sku"), status).await,
                std::slice::from_ref(&item),
                "both lists have the item"
            );
        }
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn pages_omit_expired_items_and_still_reach_the_end() {
    let shop = Shop::open(1).await;
    let (start, late) = (time(START), time(START) + 2 * DAY);
    let (mut of_account, mut of_sku) = (Vec::new(), Vec::new());
    for number in 0..60 {
        let at = shop.at(start + number * MILLISECOND);
        let cart_item = at.add("A-1", &format!("sku-{number}"), 1).await;
        let tea = at.add(&format!("B-{number}"), "tea", 1).await;
        // Some items are changed later, so they expire later than their neighbours. Therefore all
        // items that a page reads can be expired.
        if [0, 7, 8, 40, 59].contains(&number) {
            for (item, list) in [(cart_item, &mut of_account), (tea, &mut of_sku)] {
                let at = shop.at(late - 1_000 * MILLISECOND);
                list.insert(0, at.patch(&path(&item), &json!({"quantity": 2})).await.body);
            }
        }
    }
    let at = shop.at(late + DAY / 2);
    for limit in [1, 2, 5, 100] {
        let list = format!("{}?limit={limit}", items_of("A-1"));
        assert_eq!(at.all(&list).await.0, of_account, "{limit}");
        assert_eq!(at.all(&format!("/cart/skus/tea/items?limit={limit}")).await.0, of_sku, "{limit}");
    }
    shop.stack.stop().await;
}

/// Times around the ends of a day. A list has them in reverse order.
const TIMES: [&str; 5] = [
    "2026-01-01T23:59:59.999Z",
    "2026-01-02T00:00:00.000Z",
    "2026-01-02T12:00:00.000Z",
    "2026-01-02T23:59:59.999Z",
    "2026-01-03T00:00:00.000Z",
];

/// Queries of the list of a product, and the times that they find. The tests of the keys have more
/// ends of ranges.
const RANGES: [(&str, std::ops::Range<usize>); 11] = [
    ("date=2026-01-01", 0..1),
    ("date=2026-01-02", 1..4),
    ("date=2026-01-04", 5..5),
    ("from=2026-01-02T00:00:00Z&to=2026-01-02T23:59:59.999Z", 1..4),
    ("from=2026-01-02T12:00:00Z&to=2026-01-02T12:00:00Z", 2..3),
    ("from=2026-01-02T00:00:00.0001Z", 2..5),
    ("from=2026-01-01T23:00:00-01:00", 1..5),
    ("to=2026-01-02T23:59:59.9985Z", 0..3),
    ("to=2026-01-03T01:59:59.999%2B02:00", 0..4),
    ("from=2026-01-01T23:59:59.999999999Z&to=2026-01-03T00:00:00Z", 1..5),
    ("", 0..5),
];

#[tokio::test]
async fn a_day_and_a_range_include_both_ends() {
    let shop = Shop::open(30).await;
    let mut cart_items: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (number, now) in TIMES.into_iter().enumerate() {
        for status in STATUSES {
            let at = shop.at(time(now));
            let added = at.add(&format!("{status}-{number}"), "tea", 1).await;
            let item = if status == "ACTIVE" { added } else { at.bring_to(&added, status).await };
            cart_items.entry(status).or_default().push(item);
        }
    }
    let at = shop.at(time("2026-01-03T12:00:00Z"));
    for (query, found) in RANGES {
        for status in STATUSES {
            let mut wanted = cart_items[status][found.clone()].to_vec();
            wanted.reverse();
            let list = format!("/cart/skus/tea/items?status={status}&limit=2&{query}");
            assert_eq!(at.all(list.trim_end_matches('&')).await.0, wanted, "{list}");
        }
    }
    let reversed = at.get("/cart/skus/tea/items?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z").await;
    assert_eq!(reversed.status, 400, "{}", reversed.body);
    shop.stack.stop().await;
}

/// The clocks of two functions may differ, but the times of an item never decrease.
#[tokio::test]
async fn a_status_change_by_a_slow_clock_keeps_the_time_of_the_last_one() {
    let shop = Shop::open(30).await;
    let (slow, right) = (shop.at(time(START)), shop.at(time(START) + 1_000 * MILLISECOND));
    let saved = right.bring_to(&right.add("A-1", "tea", 1).await, "SAVED").await;
    let active = slow.bring_to(&saved, "ACTIVE").await;
    assert_eq!((&active["status"], &active["statusChangedAt"]), (&json!("ACTIVE"), &saved["statusChangedAt"]));
    shop.stack.stop().await;
}
