//! Content, order and paging of the cart's lists.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    cart::{STATUSES, Shop, items_of, path},
    clock::{DAY, time},
    text, texts,
};

const START: &str = "2026-01-02T10:30:00.123Z";
const SKU: &str = "tea";

fn of_sku(query: &str) -> String {
    format!("/cart/skus/{SKU}/items?{query}")
}

/// Sorts the items in the order of every list: by the time of the last status change, newest first,
/// and then by id, greatest first.
fn sort(cart_items: &mut [Value]) {
    cart_items.sort_by(|one, two| place(two).cmp(&place(one)));
}

fn place(cart_item: &Value) -> (Timestamp, &str) {
    (time(text(cart_item, "statusChangedAt")), text(cart_item, "itemId"))
}

#[tokio::test]
async fn lists_are_newest_first_by_the_last_status_change() {
    let shop = Shop::open(30).await;
    let minute = |minute: i64| shop.at(time(START) + SignedDuration::from_mins(minute));
    let mut cart_items = BTreeMap::new();
    for (number, sku) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        cart_items.insert(sku, minute(number.try_into().expect("a number")).add("A-1", sku, 1).await);
    }
    let skus = async |status: &str| {
        let cart_items = minute(60).of_account("A-1", status).await;
        texts(&cart_items, "sku").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(skus("ACTIVE").await, ["f", "e", "d", "c", "b", "a"]);
    for (at, sku, status) in [(10, "c", "SAVED"), (11, "a", "SAVED"), (12, "e", "SAVED"), (13, "b", "PURCHASED")] {
        let moved = minute(at).bring_to(&cart_items[sku], status).await;
        assert_eq!(time(text(&moved, "statusChangedAt")), time(START) + SignedDuration::from_mins(at));
        assert_eq!(moved["addedAt"], cart_items[sku]["addedAt"], "{sku}");
        assert_eq!(moved["itemId"], cart_items[sku]["itemId"], "{sku}");
    }
    assert_eq!(skus("SAVED").await, ["e", "a", "c"], "by the time of saving, not of adding");
    // A change of quantity keeps the position. An item that returns to the cart is the newest.
    minute(20).patch(&path(&cart_items["d"]), &json!({"quantity": 3})).await;
    minute(21).add("A-1", "d", 1).await;
    minute(22).bring_to(&cart_items["a"], "ACTIVE").await;
    assert_eq!(skus("ACTIVE").await, ["a", "f", "d"]);
    assert_eq!(skus("SAVED").await, ["e", "c"]);
    minute(30).check_out("A-1").await;
    minute(31).bring_to(&cart_items["c"], "PURCHASED").await;
    let bought = skus("PURCHASED").await;
    assert_eq!((bought[0].as_str(), bought[4].as_str()), ("c", "b"), "{bought:?}");
    assert_eq!(bought[1..4].iter().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(["a", "d", "f"]));
    assert_eq!((skus("ACTIVE").await.len(), skus("SAVED").await), (0, vec!["e".to_owned()]));
    for status in STATUSES {
        let mut of_all = Vec::new();
        for sku in cart_items.keys() {
            let list = minute(60).all(&format!("/cart/skus/{sku}/items?status={status}")).await.0;
            assert!(list.len() <= 1, "{sku}: {list:?}");
            of_all.extend(list);
        }
        sort(&mut of_all);
        assert_eq!(of_all, minute(60).of_account("A-1", status).await, "both lists must have the same items: {status}");
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn pages_omit_expired_items_and_still_reach_the_end() {
    let shop = Shop::open(1).await;
    let (start, late) = (time(START), time(START) + 2 * DAY);
    let mut unexpired = Vec::new();
    for number in 0..90_i64 {
        let at = shop.at(start + SignedDuration::from_millis(number));
        let cart_item = at.add(&format!("A-{}", number % 3), &format!("sku-{}", number / 3), 1).await;
        let tea = at.add(&format!("B-{number}"), SKU, 1).await;
        // Some items are changed later, so they expire later than their neighbours. Therefore all
        // items that a page reads can be expired.
        if [0, 7, 8, 40, 89].contains(&number) {
            let changed = shop.at(late - SignedDuration::from_secs(1));
            unexpired.push(changed.patch(&path(&cart_item), &json!({"quantity": 2})).await.body);
            unexpired.push(changed.patch(&path(&tea), &json!({"quantity": 2})).await.body);
        }
    }
    sort(&mut unexpired);
    let at = shop.at(late + DAY / 2);
    for limit in [1, 2, 3, 5, 8, 13, 30, 100] {
        let tea: Vec<Value> = unexpired.iter().filter(|cart_item| cart_item["sku"] == SKU).cloned().collect();
        assert_eq!(at.all(&of_sku(&format!("limit={limit}"))).await.0, tea, "{limit}");
        for account in ["A-0", "A-1", "A-2"] {
            let wanted: Vec<Value> =
                unexpired.iter().filter(|cart_item| cart_item["accountId"] == account).cloned().collect();
            let list = format!("{}?limit={limit}", items_of(account));
            assert_eq!(at.all(&list).await.0, wanted, "{account}, {limit}");
        }
    }
    shop.stack.stop().await;
}

/// Times around the boundaries of a day, in order.
const TIMES: [&str; 9] = [
    "2026-01-01T23:59:59.998Z",
    "2026-01-01T23:59:59.999Z",
    "2026-01-02T00:00:00.000Z",
    "2026-01-02T00:00:00.001Z",
    "2026-01-02T12:00:00.000Z",
    "2026-01-02T23:59:59.998Z",
    "2026-01-02T23:59:59.999Z",
    "2026-01-03T00:00:00.000Z",
    "2026-01-03T00:00:00.001Z",
];

/// Ends of ranges: the times above, times between them, and equal times with other UTC offsets.
const ENDS: [&str; 17] = [
    "2026-01-01T23:59:59.998Z",
    "2026-01-02T01:59:59.999+02:00",
    "2026-01-01T23:59:59.9990001Z",
    "2026-01-01T23:59:59.999999999Z",
    "2026-01-02T00:00:00Z",
    "2026-01-02T00:00:00.0001Z",
    "2026-01-02T00:00:00.001Z",
    "2026-01-01T23:00:00.5-01:00",
    "2026-01-02T12:00:00Z",
    "2026-01-02T06:30:00-05:30",
    "2026-01-02T23:59:59.998Z",
    "2026-01-02T23:59:59.9985Z",
    "2026-01-03T13:59:59.999+14:00",
    "2026-01-02T23:59:59.999999Z",
    "2026-01-03T00:00:00.0Z",
    "2026-01-02T12:00:00.001-12:00",
    "2026-01-03T00:00:00.001Z",
];

/// Creates nine cart items at each time in `TIMES`: three in each status. Each item is in a
/// separate account.
async fn about_a_day(shop: &Shop) -> Vec<Value> {
    let mut cart_items = Vec::new();
    for (number, now) in TIMES.into_iter().enumerate() {
        let at = shop.at(time(now));
        for status in STATUSES {
            for customer in 0..3 {
                let cart_item = at.add(&format!("{status}-{number}-{customer}"), SKU, 1).await;
                cart_items.push(if status == "ACTIVE" { cart_item } else { at.bring_to(&cart_item, status).await });
            }
        }
    }
    sort(&mut cart_items);
    cart_items
}

fn with(status: &str, cart_items: &[Value], is_in: impl Fn(Timestamp) -> bool) -> Vec<Value> {
    cart_items.iter().filter(|cart_item| cart_item["status"] == status && is_in(place(cart_item).0)).cloned().collect()
}

#[tokio::test]
async fn day_includes_its_first_and_last_millisecond() {
    let shop = Shop::open(30).await;
    let cart_items = about_a_day(&shop).await;
    let at = shop.at(time("2026-01-03T12:00:00Z"));
    for (day, times) in
        [("2025-12-31", 0..0), ("2026-01-01", 0..2), ("2026-01-02", 2..7), ("2026-01-03", 7..9), ("2026-01-04", 9..9)]
    {
        for status in STATUSES {
            let wanted = with(status, &cart_items, |since| TIMES[times.clone()].iter().any(|text| time(text) == since));
            assert_eq!(wanted.len(), 3 * times.len());
            for limit in [1, 4, 100] {
                let list = of_sku(&format!("status={status}&date={day}&limit={limit}"));
                assert_eq!(at.all(&list).await.0, wanted, "{list}");
            }
        }
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn range_includes_both_ends() {
    let shop = Shop::open(30).await;
    let cart_items = about_a_day(&shop).await;
    let at = shop.at(time("2026-01-03T12:00:00Z"));
    let escaped = |text: &str| text.replace('+', "%2B");
    let ends = || ENDS.into_iter().map(Some).chain([None]);
    let mut refused = 0;
    let pairs = ends().flat_map(|from| ends().map(move |to| (from, to)));
    for (number, (from, to)) in pairs.enumerate() {
        let is_in =
            |since: Timestamp| from.is_none_or(|from| time(from) <= since) && to.is_none_or(|to| since <= time(to));
        let query: String = [("from", from), ("to", to)]
            .into_iter()
            .filter_map(|(name, end)| Some(format!("&{name}={}", escaped(end?))))
            .collect();
        let (status, limit) = (STATUSES[number % 3], [2, 50, 100, 7][number % 4]);
        let list = of_sku(&format!("status={status}&limit={limit}{query}"));
        if from.zip(to).is_some_and(|(from, to)| time(to) < time(from)) {
            assert_eq!(at.get(&list).await.status, 400, "{list}");
            refused += 1;
        } else {
            assert_eq!(at.all(&list).await.0, with(status, &cart_items, is_in), "{list}");
        }
    }
    assert!(refused > 100, "{refused}");
    shop.stack.stop().await;
}
