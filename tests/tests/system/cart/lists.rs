//! Content, order and paging of the cart's lists.

use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use proptest::{
    prelude::*,
    sample::{Index, select},
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};
use system_tests::{
    cart::{MAX_MOVED_AT_ONCE, STATUSES, Shop, checkout_of, items_of, path, stock},
    clock::{At, DAY, time},
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
async fn status_times_of_an_item_never_decrease() {
    let shop = Shop::open(30).await;
    let cart_item = shop.at(time(START)).add("A-1", SKU, 1).await;
    let earlier = shop.at(time(START) - SignedDuration::from_secs(5));
    let saved = earlier.bring_to(&cart_item, "SAVED").await;
    assert_eq!(saved["statusChangedAt"], cart_item["statusChangedAt"]);
    assert_eq!(earlier.of_account("A-1", "SAVED").await, [saved]);
    shop.stack.stop().await;
}

/// Without `status`, a list contains the ACTIVE items. An empty list has no next page.
#[tokio::test]
async fn lists_use_default_parameters() {
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

/// Buys `carts` carts and returns the items. All items of a cart have the same status time.
async fn bought(shop: &Shop, account: &str, carts: i64) -> Vec<Value> {
    let mut bought = Vec::new();
    for cart in 0..carts {
        let at = shop.at(time(START) + SignedDuration::from_mins(if cart == 1 { 0 } else { cart }));
        let add = |number: usize| async move { at.add(account, &format!("sku-{number}"), 1).await };
        stream::iter(0..MAX_MOVED_AT_ONCE).map(add).buffer_unordered(2).collect::<Vec<_>>().await;
        bought.extend(at.check_out(account).await);
    }
    sort(&mut bought);
    bought
}

/// Checks that the pages of the list contain each item once, for every limit.
async fn assert_pages(at: At<'_>, list: &str, wanted: &[Value], limits: impl Iterator<Item = usize>) {
    let walk = |limit: usize| async move {
        let (cart_items, pages) = at.all(&format!("{list}&limit={limit}")).await;
        assert!(
            cart_items == wanted,
            "{list}, {limit}: {} of {} items in {pages} pages",
            cart_items.len(),
            wanted.len()
        );
        let (least, most) = (wanted.len().div_ceil(limit), wanted.len() / limit + 1);
        assert!((least..=most).contains(&pages), "{list}, {limit}: {pages} pages");
    };
    stream::iter(limits).map(walk).buffer_unordered(4).collect::<Vec<_>>().await;
    assert!(at.all(list).await.0 == wanted, "{list}, default limit");
}

#[tokio::test]
async fn pages_of_every_limit_contain_each_item_once() {
    let shop = Shop::open(30).await;
    let wanted = bought(&shop, "A-1", 7).await;
    assert_eq!(wanted.len(), 7 * MAX_MOVED_AT_ONCE);
    let milliseconds: BTreeSet<_> = wanted.iter().map(|cart_item| text(cart_item, "statusChangedAt")).collect();
    assert_eq!(milliseconds.len(), 7, "each order has its own time");
    let at = shop.at(time(START) + DAY);
    let list = format!("{}?status=PURCHASED", items_of("A-1"));
    assert_pages(at, &list, &wanted, 1..=100).await;
    // Other accounts, similar account names and other statuses do not appear.
    for account in ["A-", "A-10", "A-0"] {
        let cart_item = at.add(account, "sku-1", 1).await;
        at.bring_to(&cart_item, "PURCHASED").await;
    }
    at.bring_to(&at.add("A-1", "sku-1", 1).await, "SAVED").await;
    at.add("A-1", "sku-2", 1).await;
    assert_pages(at, &list, &wanted, [7, 100].into_iter()).await;
    shop.stack.stop().await;
}

#[tokio::test]
async fn pages_of_a_product_contain_the_items_of_all_accounts_once() {
    let shop = Shop::open(30).await;
    let instants = [0, 0, 0, 1, 2, 86_400_000].map(SignedDuration::from_millis);
    let mut wanted: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for number in 0..150_usize {
        let at = shop.at(time(START) + instants[number % instants.len()]);
        let cart_item = at.add(&format!("A-{number}"), SKU, 1).await;
        let status = STATUSES[number % 3];
        let cart_item = if status == "ACTIVE" { cart_item } else { at.bring_to(&cart_item, status).await };
        wanted.entry(status).or_default().push(cart_item);
    }
    let at = shop.at(time(START) + DAY);
    at.add("A-1", "te", 1).await;
    at.add("A-1", "tea_", 1).await;
    for (status, mut cart_items) in wanted {
        sort(&mut cart_items);
        assert_eq!(cart_items.len(), 50);
        assert_pages(at, &of_sku(&format!("status={status}")), &cart_items, (1..=51).step_by(3)).await;
        cart_items.retain(|cart_item| place(cart_item).0 < time("2026-01-03T00:00:00Z"));
        let day = of_sku(&format!("status={status}&date=2026-01-02"));
        assert_pages(at, &day, &cart_items, [1, 2, 16, 17, 50, 100].into_iter()).await;
        let range = of_sku(&format!("status={status}&from={START}&to={START}"));
        cart_items.retain(|cart_item| text(cart_item, "statusChangedAt") == START);
        assert_pages(at, &range, &cart_items, [1, 2, 16, 17, 50, 100].into_iter()).await;
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

const ACCOUNTS: [&str; 3] = ["A", "A-1", "B"];
const SKUS: [&str; 4] = ["tea", "cup", "pot", "te"];

/// Customer request. `which` selects the existing cart item that the request changes.
#[derive(Debug, Clone)]
enum Operation {
    Add {
        account: usize,
        sku: usize,
        quantity: u32,
    },
    Change {
        which: Index,
        quantity: Option<u32>,
        status: Option<&'static str>,
    },
    Remove {
        which: Index,
    },
    CheckOut {
        account: usize,
    },
    /// Advances the clock by a number of seconds.
    Wait {
        seconds: i64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    let quantity = || prop_oneof![3 => 1_u32..10, 1 => Just(9_990)];
    let status = prop::option::weighted(0.8, select(&STATUSES[..2]));
    prop_oneof![
        8 => (0..ACCOUNTS.len(), 0..SKUS.len(), quantity())
            .prop_map(|(account, sku, quantity)| Operation::Add { account, sku, quantity }),
        10 => (any::<Index>(), prop::option::of(quantity()), status)
            .prop_filter("something", |(_, quantity, status)| quantity.is_some() || status.is_some())
            .prop_map(|(which, quantity, status)| Operation::Change { which, quantity, status }),
        2 => any::<Index>().prop_map(|which| Operation::Remove { which }),
        1 => (0..ACCOUNTS.len()).prop_map(|account| Operation::CheckOut { account }),
        4 => select(vec![0_i64, 1, 3_600, 50_000, 86_400, 100_000]).prop_map(|seconds| Operation::Wait { seconds }),
    ]
}

/// Expected state of a cart item.
#[derive(Debug, Clone)]
struct Known {
    id: String,
    account: usize,
    sku: usize,
    quantity: u32,
    /// Status. `None` if the item was removed or merged.
    status: Option<&'static str>,
    /// If the item was merged into another item: the index of the other item, and the merged
    /// quantity.
    joined: Option<(usize, u32)>,
    since: i64,
    /// Expiry in Unix milliseconds. `None` if the item does not expire.
    expires: Option<i64>,
}

const DAY_MILLIS: i64 = 86_400_000;

/// Expected state of the cart items, with `CartDays` 1.
struct Model {
    now: i64,
    known: Vec<Known>,
}

impl Model {
    fn is_live(&self, known: &Known) -> bool {
        known.status.is_some() && known.expires.is_none_or(|expires| self.now < expires)
    }

    fn second(&self) -> i64 {
        self.now / 1_000 * 1_000
    }

    /// ACTIVE cart items of the account.
    fn cart(&self, account: usize) -> Vec<usize> {
        let in_cart = |known: &Known| known.account == account && known.status == Some("ACTIVE") && self.is_live(known);
        (0..self.known.len()).filter(|at| in_cart(&self.known[*at])).collect()
    }

    fn find(&self, account: usize, sku: usize) -> Option<usize> {
        self.cart(account).into_iter().find(|at| self.known[*at].sku == sku)
    }

    /// Changes the quantity. Also renews the expiry if it is less than a day away.
    fn count(&mut self, at: usize, quantity: u32) {
        let second = self.second();
        let known = &mut self.known[at];
        known.quantity = quantity;
        if known.expires.is_some_and(|expires| expires < second + DAY_MILLIS) {
            known.expires = Some(second + 2 * DAY_MILLIS);
        }
    }

    fn move_to(&mut self, at: usize, status: &'static str) {
        let (now, second) = (self.now, self.second());
        let known = &mut self.known[at];
        (known.status, known.since) = (Some(status), now);
        known.expires = (status == "ACTIVE").then_some(second + 2 * DAY_MILLIS);
    }

    /// Returns the expected status and the index of the cart item in the expected response. The
    /// index is `None` if the item is new.
    fn add(&mut self, account: usize, sku: usize, quantity: u32) -> (u16, Option<usize>) {
        match self.find(account, sku) {
            Some(at) if self.known[at].quantity + quantity > 9_999 => (409, Some(at)),
            Some(at) => {
                self.count(at, self.known[at].quantity + quantity);
                (200, Some(at))
            }
            None => (201, None),
        }
    }

    /// Returns the expected status and the index of the cart item in the expected response.
    fn change(&mut self, at: usize, quantity: Option<u32>, status: Option<&'static str>) -> (u16, usize) {
        let known = self.known[at].clone();
        if !self.is_live(&known) {
            // If the requested item was merged into another item, a repeated request returns the
            // other item while it is in the cart.
            let in_cart = |at: usize| self.is_live(&self.known[at]) && self.known[at].status == Some("ACTIVE");
            let again = |asked: u32| status == Some("ACTIVE") && quantity.is_none_or(|quantity| quantity == asked);
            let joined = known.joined.filter(|(at, asked)| in_cart(*at) && again(*asked));
            return joined.map_or((404, at), |(joined, _)| (200, joined));
        }
        let wanted = quantity.unwrap_or(known.quantity);
        let moves = status.filter(|status| known.status != Some(*status));
        if known.status == Some("PURCHASED") {
            return (if moves.is_some() || wanted != known.quantity { 409 } else { 200 }, at);
        }
        let there = self.find(known.account, known.sku);
        match (moves, there) {
            (Some("ACTIVE"), Some(there)) if self.known[there].quantity + wanted > 9_999 => (409, at),
            (Some("ACTIVE"), Some(there)) => {
                self.count(there, self.known[there].quantity + wanted);
                let joined = &mut self.known[at];
                (joined.status, joined.joined) = (None, Some((there, wanted)));
                (200, there)
            }
            (Some(status), _) => {
                self.known[at].quantity = wanted;
                self.move_to(at, status);
                (200, at)
            }
            (None, _) => {
                if wanted != known.quantity {
                    self.count(at, wanted);
                }
                (200, at)
            }
        }
    }

    /// Expected content of a list, in order: status times, ids and quantities.
    fn list(&self, status: &str, is_in: impl Fn(&Known) -> bool) -> Vec<(i64, String, u64)> {
        let listed = |known: &&Known| known.status == Some(status) && self.is_live(known) && is_in(known);
        let found = self.known.iter().filter(listed);
        let mut found: Vec<_> = found.map(|known| (known.since, known.id.clone(), known.quantity.into())).collect();
        found.sort();
        found.reverse();
        found
    }
}

/// Content of a list in a response: status times, ids and quantities.
fn shown(cart_items: &[Value]) -> Vec<(i64, String, u64)> {
    let shown = |cart_item: &Value| {
        let since = time(text(cart_item, "statusChangedAt")).as_millisecond();
        (since, text(cart_item, "itemId").to_owned(), cart_item["quantity"].as_u64().expect("a number"))
    };
    cart_items.iter().map(shown).collect()
}

/// Run of one test case. Each case has separate accounts and products.
struct Run<'a> {
    shop: &'a Shop,
    case: usize,
    model: Model,
}

impl Run<'_> {
    fn at(&self) -> At<'_> {
        self.shop.at(Timestamp::from_millisecond(self.model.now).expect("a time"))
    }

    fn account(&self, account: usize) -> String {
        format!("{}-of-{}", ACCOUNTS[account], self.case)
    }

    fn sku(&self, sku: usize) -> String {
        format!("{}-of-{}", SKUS[sku], self.case)
    }

    fn path(&self, known: &Known) -> String {
        format!("{}/{}", items_of(&self.account(known.account)), known.id)
    }

    async fn apply(&mut self, operation: &Operation) -> Result<(), TestCaseError> {
        match *operation {
            Operation::Wait { seconds } => self.model.now += seconds * 1_000 + 1,
            Operation::Add { account, sku, quantity } => return self.add(account, sku, quantity).await,
            Operation::CheckOut { account } => return self.check_out(account).await,
            Operation::Change { .. } | Operation::Remove { .. } if self.model.known.is_empty() => {}
            Operation::Change { which, quantity, status } => {
                return self.change(which.index(self.model.known.len()), quantity, status).await;
            }
            Operation::Remove { which } => return self.remove(which.index(self.model.known.len())).await,
        }
        Ok(())
    }

    async fn add(&mut self, account: usize, sku: usize, quantity: u32) -> Result<(), TestCaseError> {
        let body = json!({"sku": self.sku(sku), "quantity": quantity});
        let answer = self.at().post(&items_of(&self.account(account)), &body).await;
        let (status, there) = self.model.add(account, sku, quantity);
        prop_assert_eq!(answer.status, status, "{}", answer.body);
        match there {
            Some(at) if status == 200 => prop_assert_eq!(&answer.body["itemId"], &self.model.known[at].id),
            Some(_) => {}
            None => {
                let (id, now) = (text(&answer.body, "itemId").to_owned(), self.model.now);
                let new = Known { id, account, sku, quantity, status: None, joined: None, since: now, expires: None };
                self.model.known.push(new);
                self.model.move_to(self.model.known.len() - 1, "ACTIVE");
            }
        }
        Ok(())
    }

    async fn change(
        &mut self,
        at: usize,
        quantity: Option<u32>,
        status: Option<&'static str>,
    ) -> Result<(), TestCaseError> {
        let members = [("quantity", quantity.map(Value::from)), ("status", status.map(Value::from))];
        let body: Value = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        let answer = self.at().patch(&self.path(&self.model.known[at]), &body).await;
        let before = self.model.known[at].clone();
        let (wanted, index) = self.model.change(at, quantity, status);
        prop_assert_eq!(answer.status, wanted, "{:?} by {}: {}", before, body, answer.body);
        if wanted == 200 {
            let known = &self.model.known[index];
            let is = (&answer.body["itemId"], &answer.body["quantity"], answer.body["status"].as_str());
            prop_assert_eq!(is, (&json!(known.id), &json!(known.quantity), known.status));
        }
        Ok(())
    }

    async fn remove(&mut self, at: usize) -> Result<(), TestCaseError> {
        let known = self.model.known[at].clone();
        let answer = self.at().delete(&self.path(&known)).await;
        let wanted = match known.status {
            _ if !self.model.is_live(&known) => 404,
            Some("PURCHASED") => 409,
            _ => 204,
        };
        prop_assert_eq!(answer.status, wanted, "{:?}: {}", known, answer.body);
        if wanted == 204 {
            self.model.known[at].status = None;
        }
        Ok(())
    }

    async fn check_out(&mut self, account: usize) -> Result<(), TestCaseError> {
        let cart = self.model.cart(account);
        let answer = self.at().post(&checkout_of(&self.account(account)), &json!({})).await;
        prop_assert_eq!(answer.status, if cart.is_empty() { 409 } else { 200 }, "{}", answer.body);
        // An order is later than the order before.
        let since =
            |known: &Known| (known.status == Some("PURCHASED") && known.account == account).then_some(known.since);
        let last = self.model.known.iter().filter_map(since).max();
        let now = self.model.now.max(last.map_or(0, |last| last + 1));
        for at in &cart {
            self.model.move_to(*at, "PURCHASED");
            self.model.known[*at].since = now;
        }
        if !cart.is_empty() {
            let ids: BTreeSet<&str> = cart.iter().map(|at| self.model.known[*at].id.as_str()).collect();
            let bought = self.model.list("PURCHASED", |known| ids.contains(known.id.as_str()));
            let lines = answer.body["items"].as_array().expect("items");
            let lines: Vec<_> = lines.iter().map(|line| text(line, "itemId").to_owned()).collect();
            prop_assert_eq!(lines, bought.into_iter().map(|(_, id, _)| id).collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Compares the lists and each cart item with the model.
    async fn check(&self, limit: usize) -> Result<(), TestCaseError> {
        for status in STATUSES {
            for account in 0..ACCOUNTS.len() {
                let list = format!("{}?status={status}&limit={limit}", items_of(&self.account(account)));
                let wanted = self.model.list(status, |known| known.account == account);
                prop_assert_eq!(shown(&self.at().all(&list).await.0), wanted, "{}", list);
            }
            for sku in 0..SKUS.len() {
                let list = format!("/cart/skus/{}/items?status={status}&limit={limit}", self.sku(sku));
                let wanted = self.model.list(status, |known| known.sku == sku);
                prop_assert_eq!(shown(&self.at().all(&list).await.0), wanted, "{}", list);
            }
        }
        for known in &self.model.known {
            let answer = self.at().get(&self.path(known)).await;
            prop_assert_eq!(answer.status, if self.model.is_live(known) { 200 } else { 404 }, "{:?}", known);
        }
        Ok(())
    }
}

#[test]
fn lists_match_the_model_under_random_operations() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let shop = runtime.block_on(Shop::open(1));
    let config = Config { cases: 24, max_shrink_iters: 200, failure_persistence: None, ..Config::default() };
    let case = Cell::new(0);
    let run = |(operations, limit): (Vec<Operation>, usize)| {
        case.set(case.get() + 1);
        let model = Model { now: time(START).as_millisecond(), known: Vec::new() };
        let mut run = Run { shop: &shop, case: case.get(), model };
        runtime.block_on(async {
            stock(&shop.stack, (0..SKUS.len()).map(|sku| run.sku(sku))).await;
            for operation in &operations {
                run.apply(operation).await?;
            }
            run.check(limit).await
        })
    };
    let result = TestRunner::new(config).run(&(prop::collection::vec(operation(), 1..60), 1_usize..6), run);
    assert!(result.is_ok(), "{}", result.err().map(|error| error.to_string()).unwrap_or_default());
    runtime.block_on(shop.stack.stop());
}
