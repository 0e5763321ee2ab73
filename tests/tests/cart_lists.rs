//! What the cart's lists hold, in which order, and how their pages follow one another.

use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    bank::{text, texts},
    cart::{At, DAY, MOST_LINES, STATUSES, Shop, items_of, path, time},
};

const START: &str = "2026-01-02T10:30:00.123Z";
const SKU: &str = "tea";

fn of_sku(query: &str) -> String {
    format!("/cart/skus/{SKU}/items?{query}")
}

/// The order of every list: the newest change of the status first, and of one millisecond the greatest id.
fn sort(lines: &mut [Value]) {
    lines.sort_by(|one, two| place(two).cmp(&place(one)));
}

fn place(line: &Value) -> (Timestamp, &str) {
    (time(text(line, "statusChangedAt")), text(line, "itemId"))
}

#[tokio::test]
async fn lists_are_newest_first_by_the_time_of_adding_saving_or_purchasing() {
    let shop = Shop::open(30).await;
    let minute = |minute: i64| shop.at(time(START) + SignedDuration::from_mins(minute));
    let mut lines = BTreeMap::new();
    for (number, sku) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        lines.insert(sku, minute(number.try_into().expect("a number")).add("A-1", sku, 1).await);
    }
    let skus = async |status: &str| {
        let lines = minute(60).of_account("A-1", status).await;
        texts(&lines, "sku").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(skus("ACTIVE").await, ["f", "e", "d", "c", "b", "a"]);
    for (at, sku, status) in [(10, "c", "SAVED"), (11, "a", "SAVED"), (12, "e", "SAVED"), (13, "b", "PURCHASED")] {
        let moved = minute(at).bring_to(&lines[sku], status).await;
        assert_eq!(time(text(&moved, "statusChangedAt")), time(START) + SignedDuration::from_mins(at));
        assert_eq!(moved["addedAt"], lines[sku]["addedAt"], "{sku}");
        assert_eq!(moved["itemId"], lines[sku]["itemId"], "{sku}");
    }
    assert_eq!(skus("SAVED").await, ["e", "a", "c"], "by the time of saving, not of adding");
    // A quantity moves nothing, and what returns to the cart is the newest in it.
    minute(20).patch(&path(&lines["d"]), &json!({"quantity": 3})).await;
    minute(21).add("A-1", "d", 1).await;
    minute(22).bring_to(&lines["a"], "ACTIVE").await;
    assert_eq!(skus("ACTIVE").await, ["a", "f", "d"]);
    assert_eq!(skus("SAVED").await, ["e", "c"]);
    minute(30).check_out("A-1").await;
    minute(31).bring_to(&lines["c"], "PURCHASED").await;
    let bought = skus("PURCHASED").await;
    assert_eq!((bought[0].as_str(), bought[4].as_str()), ("c", "b"), "{bought:?}");
    assert_eq!(bought[1..4].iter().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(["a", "d", "f"]));
    assert_eq!((skus("ACTIVE").await.len(), skus("SAVED").await), (0, vec!["e".to_owned()]));
    for status in STATUSES {
        let mut of_all = Vec::new();
        for sku in lines.keys() {
            let list = minute(60).all(&format!("/cart/skus/{sku}/items?status={status}")).await.0;
            assert!(list.len() <= 1, "{sku}: {list:?}");
            of_all.extend(list);
        }
        sort(&mut of_all);
        assert_eq!(of_all, minute(60).of_account("A-1", status).await, "both lists hold the same of {status}");
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn a_lines_own_times_never_go_back() {
    let shop = Shop::open(30).await;
    let line = shop.at(time(START)).add("A-1", SKU, 1).await;
    let earlier = shop.at(time(START) - SignedDuration::from_secs(5));
    let saved = earlier.bring_to(&line, "SAVED").await;
    assert_eq!(saved["statusChangedAt"], line["statusChangedAt"]);
    assert_eq!(earlier.of_account("A-1", "SAVED").await, [saved]);
    shop.stack.stop().await;
}

/// Every list without `status` is of ACTIVE lines, and one that is empty has no next page.
#[tokio::test]
async fn the_defaults_of_a_list() {
    let shop = Shop::open(30).await;
    let at = shop.at(time(START));
    for list in
        [items_of("A-1"), of_sku(""), of_sku("date=2026-01-02"), of_sku("status=PURCHASED&from=2026-01-02T00:00:00Z")]
    {
        let answer = at.get(&list).await;
        assert_eq!((answer.status, answer.body), (200, json!({"items": []})), "{list}");
    }
    let active = at.add("A-1", SKU, 1).await;
    let saved = at.add("A-1", "cup", 1).await;
    at.bring_to(&saved, "SAVED").await;
    for list in [items_of("A-1"), of_sku("")] {
        assert_eq!(at.get(&list).await.body, json!({"items": [active]}), "{list}");
    }
    shop.stack.stop().await;
}

/// So many lines, bought cart by cart: all of a cart in one millisecond, and the second cart in that of the first.
async fn bought(shop: &Shop, account: &str, carts: i64) -> Vec<Value> {
    let mut bought = Vec::new();
    for cart in 0..carts {
        let at = shop.at(time(START) + SignedDuration::from_mins(if cart == 1 { 0 } else { cart }));
        let add = |number: usize| async move { at.add(account, &format!("sku-{number}"), 1).await };
        stream::iter(0..MOST_LINES).map(add).buffer_unordered(2).collect::<Vec<_>>().await;
        bought.extend(at.check_out(account).await);
    }
    sort(&mut bought);
    bought
}

/// Pages of every limit hold the list, each line once.
async fn assert_pages(at: At<'_>, list: &str, wanted: &[Value], limits: impl Iterator<Item = usize>) {
    let walk = |limit: usize| async move {
        let (lines, pages) = at.all(&format!("{list}&limit={limit}")).await;
        assert!(lines == wanted, "{list}, {limit}: {} of {} lines in {pages} pages", lines.len(), wanted.len());
        let (least, most) = (wanted.len().div_ceil(limit), wanted.len() / limit + 1);
        assert!((least..=most).contains(&pages), "{list}, {limit}: {pages} pages");
    };
    stream::iter(limits).map(walk).buffer_unordered(4).collect::<Vec<_>>().await;
    assert!(at.all(list).await.0 == wanted, "{list}, default limit");
}

#[tokio::test]
async fn pages_of_every_limit_walk_hundreds_of_lines_once() {
    let shop = Shop::open(30).await;
    let wanted = bought(&shop, "A-1", 7).await;
    assert_eq!(wanted.len(), 7 * MOST_LINES);
    let milliseconds: BTreeSet<_> = wanted.iter().map(|line| text(line, "statusChangedAt")).collect();
    assert_eq!(milliseconds.len(), 6, "many lines share a millisecond");
    let at = shop.at(time(START) + DAY);
    let list = format!("{}?status=PURCHASED", items_of("A-1"));
    assert_pages(at, &list, &wanted, 1..=100).await;
    // What else is there does not show: neighbours in the table and of nearly the same name.
    for account in ["A-", "A-10", "A-0"] {
        let line = at.add(account, "sku-1", 1).await;
        at.bring_to(&line, "PURCHASED").await;
    }
    at.bring_to(&at.add("A-1", "sku-1", 1).await, "SAVED").await;
    at.add("A-1", "sku-2", 1).await;
    assert_pages(at, &list, &wanted, [7, 100].into_iter()).await;
    shop.stack.stop().await;
}

#[tokio::test]
async fn pages_of_every_limit_walk_a_products_lines_of_all_accounts_once() {
    let shop = Shop::open(30).await;
    let instants = [0, 0, 0, 1, 2, 86_400_000].map(SignedDuration::from_millis);
    let mut wanted: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for number in 0..150_usize {
        let at = shop.at(time(START) + instants[number % instants.len()]);
        let line = at.add(&format!("A-{number}"), SKU, 1).await;
        let status = STATUSES[number % 3];
        let line = if status == "ACTIVE" { line } else { at.bring_to(&line, status).await };
        wanted.entry(status).or_default().push(line);
    }
    let at = shop.at(time(START) + DAY);
    at.add("A-1", "te", 1).await;
    at.add("A-1", "tea ", 1).await;
    for (status, mut lines) in wanted {
        sort(&mut lines);
        assert_eq!(lines.len(), 50);
        assert_pages(at, &of_sku(&format!("status={status}")), &lines, (1..=51).step_by(3)).await;
        lines.retain(|line| place(line).0 < time("2026-01-03T00:00:00Z"));
        let day = of_sku(&format!("status={status}&date=2026-01-02"));
        assert_pages(at, &day, &lines, [1, 2, 16, 17, 50, 100].into_iter()).await;
        let range = of_sku(&format!("status={status}&from={START}&to={START}"));
        lines.retain(|line| text(line, "statusChangedAt") == START);
        assert_pages(at, &range, &lines, [1, 2, 16, 17, 50, 100].into_iter()).await;
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn pages_skip_expired_lines_and_still_walk_the_whole_list() {
    let shop = Shop::open(1).await;
    let (start, late) = (time(START), time(START) + 2 * DAY);
    let mut unexpired = Vec::new();
    for number in 0..90_i64 {
        let at = shop.at(start + SignedDuration::from_millis(number));
        let line = at.add(&format!("A-{}", number % 3), &format!("sku-{}", number / 3), 1).await;
        let tea = at.add(&format!("B-{number}"), SKU, 1).await;
        // Every seventh was changed since, so it outlives its neighbours.
        if number % 7 == 0 {
            let changed = shop.at(late - SignedDuration::from_secs(1));
            unexpired.push(changed.patch(&path(&line), &json!({"quantity": 2})).await.body);
            unexpired.push(changed.patch(&path(&tea), &json!({"quantity": 2})).await.body);
        }
    }
    sort(&mut unexpired);
    let at = shop.at(late + DAY / 2);
    for limit in 1..=35 {
        let tea: Vec<Value> = unexpired.iter().filter(|line| line["sku"] == SKU).cloned().collect();
        assert_eq!(at.all(&of_sku(&format!("limit={limit}"))).await.0, tea, "{limit}");
        for account in ["A-0", "A-1", "A-2"] {
            let wanted: Vec<Value> = unexpired.iter().filter(|line| line["accountId"] == account).cloned().collect();
            let list = format!("{}?limit={limit}", items_of(account));
            assert_eq!(at.all(&list).await.0, wanted, "{account}, {limit}");
        }
    }
    shop.stack.stop().await;
}

/// Times about the edges of a day, in order.
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

/// Ends of ranges: each of the times, what lies between two of them, and the same with offsets.
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

/// At each of the times three accounts' lines, one for each status.
async fn about_a_day(shop: &Shop) -> Vec<Value> {
    let mut lines = Vec::new();
    for (number, now) in TIMES.into_iter().enumerate() {
        let at = shop.at(time(now));
        for status in STATUSES {
            for customer in 0..3 {
                let line = at.add(&format!("{status}-{number}-{customer}"), SKU, 1).await;
                lines.push(if status == "ACTIVE" { line } else { at.bring_to(&line, status).await });
            }
        }
    }
    sort(&mut lines);
    lines
}

fn with(status: &str, lines: &[Value], is_in: impl Fn(Timestamp) -> bool) -> Vec<Value> {
    lines.iter().filter(|line| line["status"] == status && is_in(place(line).0)).cloned().collect()
}

#[tokio::test]
async fn a_day_holds_its_first_and_its_last_millisecond_and_no_other_days() {
    let shop = Shop::open(30).await;
    let lines = about_a_day(&shop).await;
    let at = shop.at(time("2026-01-03T12:00:00Z"));
    for (day, times) in
        [("2025-12-31", 0..0), ("2026-01-01", 0..2), ("2026-01-02", 2..7), ("2026-01-03", 7..9), ("2026-01-04", 9..9)]
    {
        for status in STATUSES {
            let wanted = with(status, &lines, |since| TIMES[times.clone()].iter().any(|text| time(text) == since));
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
async fn every_range_holds_both_ends_and_what_lies_between() {
    let shop = Shop::open(30).await;
    let lines = about_a_day(&shop).await;
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
            assert_eq!(at.all(&list).await.0, with(status, &lines, is_in), "{list}");
        }
    }
    assert!(refused > 100, "{refused}");
    shop.stack.stop().await;
}
