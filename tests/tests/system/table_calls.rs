//! Tests the calls of the crate `table` and idempotent requests against DynamoDB: conditions, puts,
//! updates, and complete reads of many items. Further tests check cursors, names of attributes and
//! stored JSON.

use function::{Error as Failure, Fingerprint, IdempotentRequest};
use jiff::Timestamp;
use keys::{
    IdempotencyKey, KeyRange, Random, TimestampMillis, TimestampSeconds,
    bank::{DueSort, PaymentId, Status},
    wellness::{EndDateSort, Level, Period},
};
use local::Stack;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use std::{collections::BTreeSet, time::Duration};
use system_tests::{
    faults::{Call, Fault, MOMENTS, Proxy},
    stack,
};
use table::{
    Attribute, Attributes, BadCursor, BatchWrite, Binding, Condition, Cursor, Dynamo, Error, Index, Item, JsonText,
    Key, MergedQuery, Projection, Query, Table, measured,
};

const SORT: &str = "Program";
const END: &str = "EndDate#2020-12-31T00:00:00";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
struct Thing {
    #[serde(rename = "PK")]
    partition: String,
    #[serde(rename = "SK")]
    sort: String,
    #[serde(rename = "GSI1PK")]
    list: String,
    #[serde(rename = "GSI1SK")]
    end: String,
    /// Projected by GSI1.
    #[serde(rename = "Version", skip_serializing_if = "Option::is_none")]
    number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Projected by GSI1.
    data: String,
}

impl Item for Thing {
    const TYPE: &'static str = "Thing";
}

fn thing(id: &str) -> Thing {
    Thing {
        partition: id.to_owned(),
        sort: SORT.to_owned(),
        list: "L".to_owned(),
        end: END.to_owned(),
        number: None,
        text: None,
        data: String::new(),
    }
}

fn key(id: &str) -> Key {
    Key::new(&id, &SORT)
}

/// A table behind a proxy.
struct Scene {
    stack: Stack,
    proxy: Proxy,
    dynamo: Dynamo,
    table: Table,
    index: Index,
}

impl Scene {
    async fn start() -> Self {
        let stack = stack().start().await.expect("a stack");
        let proxy = Proxy::start(stack.dynamo_url()).await;
        let config = stack.client().expect("a client").config().to_builder().endpoint_url(proxy.url()).build();
        let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::from_conf(config), system_tests::random());
        let table = dynamo.table(stack.table("Activities").expect("a table"));
        let index = Index { name: "GSI1".into(), partition: Thing::LIST, sort: Thing::END };
        Self { stack, proxy, dynamo, table, index }
    }

    /// Puts the items directly in DynamoDB, because the proxy rejects large batches.
    async fn seed(&self, things: &[Thing]) {
        let dynamo = system_tests::dynamo(&self.stack);
        let table = dynamo.table(self.stack.table("Activities").expect("a table"));
        let mut batch = BatchWrite::default();
        for thing in things {
            batch.put(&table, thing).expect("writable");
        }
        dynamo.batch_write(batch).await.expect("all writes succeed");
    }

    async fn read(&self, id: &str) -> Option<Thing> {
        self.table.get(&key(id)).await.expect("read")
    }
}

fn is_refused<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Refused(_)))
}

#[tokio::test]
async fn a_put_creates_or_replaces_an_item() {
    let scene = Scene::start().await;
    let [first, second, third] = [1, 2, 3].map(|number| Thing { number: Some(number), ..thing("A") });
    scene.dynamo.write(scene.table.put(&first).expect("a change")).await.expect("put");
    scene.dynamo.write(scene.table.put(&second).expect("a change")).await.expect("put");
    assert_eq!(scene.read("A").await, Some(second.clone()));
    let same = Condition::is(Thing::NUMBER, 1);
    let refused = scene.dynamo.write(scene.table.put(&third).expect("a change").only_if(same)).await;
    let Err(Error::Refused(refused)) = refused else { unreachable!("{refused:?}") };
    assert_eq!(refused.found::<Thing>(0).expect("a thing"), Some(second.clone()));
    assert_eq!(scene.read("A").await, Some(second));
    let new = Thing { number: Some(1), ..thing("B") };
    let only_new = scene.table.put(&new).expect("a change").only_if(Condition::missing(Thing::NUMBER));
    scene.dynamo.write(only_new.clone()).await.expect("no item exists");
    assert!(is_refused(&scene.dynamo.write(only_new).await));
}

/// An update either leaves a readable item, or writes nothing.
#[tokio::test]
async fn an_update_of_an_unreadable_item_repairs_it_or_writes_nothing() {
    let scene = Scene::start().await;
    let torn = || Torn { partition: "B".to_owned(), rest: json!({"SK": SORT, "GSI1PK": "L", "GSI1SK": END}) };
    let update = || scene.table.update(key("B")).set(Thing::NUMBER, 2);
    let stored = async || scene.table.get::<Torn>(&key("B")).await.expect("read").expect("the item").rest;
    scene.dynamo.write(scene.table.put(&torn()).expect("a change")).await.expect("put");
    let before = stored().await;
    let refused = scene.dynamo.update::<Thing>(update()).await;
    assert!(matches!(refused, Err(Error::Unreadable("Thing", _))), "{refused:?}");
    assert_eq!(stored().await, before, "nothing is written");
    let other = scene.dynamo.update::<Thing>(update().only_if(Condition::is(Thing::LIST, &"other"))).await;
    assert!(is_refused(&other), "a condition that fails takes precedence: {other:?}");
    let repaired: Thing = scene.dynamo.update(update().set(Thing::DATA, &"x")).await.expect("repaired");
    assert_eq!(repaired.number, Some(2));
}

#[tokio::test]
async fn an_update_sets_and_removes_attributes_of_an_existing_item() {
    let scene = Scene::start().await;
    let full = Thing { number: Some(1), text: Some("a".to_owned()), ..thing("A") };
    scene.seed(std::slice::from_ref(&full)).await;
    let update = || scene.table.update(key("A"));
    let after: Thing = scene.dynamo.update(update().set(Thing::NUMBER, 2).remove(Thing::TEXT)).await.expect("updated");
    assert_eq!(after, Thing { number: Some(2), text: None, ..full.clone() });
    let after: Thing = scene.dynamo.update(update().remove(Thing::NUMBER).remove(Thing::TEXT)).await.expect("updated");
    assert_eq!(after, Thing { number: None, text: None, ..full.clone() }, "removing an absent attribute succeeds");
    scene
        .dynamo
        .transact(vec![update().remove(Thing::DATA).set(Thing::DATA, &"new")])
        .await
        .expect_err("DynamoDB rejects overlapping paths");
    scene.dynamo.transact(vec![update().set(Thing::TEXT, &"b").remove(Thing::NUMBER)]).await.expect("updated");
    assert_eq!(scene.read("A").await, Some(Thing { number: None, text: Some("b".to_owned()), ..full }));
    let absent = scene.dynamo.write(scene.table.update(key("B")).remove(Thing::TEXT)).await;
    assert!(is_refused(&absent) && scene.read("B").await.is_none(), "an update creates no item");
}

#[tokio::test]
async fn each_condition_selects_the_expected_items() {
    let scene = Scene::start().await;
    let with = |id: &str, number| Thing { number, ..thing(id) };
    scene.seed(&[with("none", None), with("1", Some(1)), with("2", Some(2)), with("3", Some(3))]).await;
    let conditions = [
        ("is", Condition::is(Thing::NUMBER, 2), ["2"].as_slice()),
        ("is not", Condition::is_not(Thing::NUMBER, 2), &["1", "3"]),
        ("is at most", Condition::at_most(Thing::NUMBER, 2), &["1", "2"]),
        ("is missing", Condition::missing(Thing::NUMBER), &["absent", "none"]),
        ("is missing or over", Condition::missing_or_over(Thing::NUMBER, 2), &["3", "absent", "none"]),
    ];
    for (name, condition, right) in conditions {
        let mut holding = Vec::new();
        for id in ["1", "2", "3", "absent", "none"] {
            let done = scene.dynamo.transact(vec![scene.table.check(key(id), condition.clone())]).await;
            assert!(done.is_ok() || is_refused(&done), "{name} {id}: {done:?}");
            holding.extend(done.is_ok().then_some(id));
        }
        assert_eq!(holding, right, "{name}");
        // A query filter selects the same existing items.
        let range = EndDateSort::within(Period::of_year("2020".parse().expect("a year")));
        let query = Query::new(&"L", &range).on(&scene.index).only_if(condition);
        assert_eq!(
            scene.table.count(&query).await.expect("counted"),
            right.iter().filter(|id| **id != "absent").count() as u64,
            "{name}"
        );
    }
    assert!(scene.read("absent").await.is_none(), "a check writes nothing");
}

/// The first attempt or its response is lost, and the next attempts are cancelled by a conflict.
#[tokio::test]
async fn a_transaction_is_executed_once_if_a_conflict_follows_a_lost_response() {
    let scene = Scene::start().await;
    scene.seed(&[Thing { number: Some(1), ..thing("A") }]).await;
    let one_more = || vec![scene.table.update(key("A")).add(Thing::NUMBER, 1)];
    let cases = MOMENTS.into_iter().flat_map(|moment| [(moment, false), (moment, true)]);
    for ((moment, once), wanted) in cases.zip(2..) {
        scene.proxy.rule(move |call| match call.nth {
            1 if call.action == "TransactWriteItems" => Fault::Lost(moment),
            2 | 3 => Fault::cancelled(&["TransactionConflict"]),
            _ => Fault::None,
        });
        let done =
            if once { scene.dynamo.transact_once(one_more()).await } else { scene.dynamo.transact(one_more()).await };
        done.expect("the transaction is done");
        scene.proxy.heal();
        assert_eq!(scene.read("A").await.and_then(|thing| thing.number), Some(wanted), "{moment:?} once: {once}");
    }
}

#[tokio::test]
async fn a_failed_check_cancels_the_transaction() {
    let scene = Scene::start().await;
    scene.seed(&[Thing { number: Some(1), ..thing("A") }]).await;
    let new = |id: &str| scene.table.put_new(&thing(id)).expect("a change");
    let if_number = |number: i64| scene.table.check(key("A"), Condition::is(Thing::NUMBER, number));
    scene.dynamo.transact(vec![new("B"), if_number(1)]).await.expect("the condition passes");
    let refused = scene.dynamo.transact(vec![new("C"), if_number(2)]).await;
    let Err(Error::Refused(refused)) = refused else { unreachable!("{refused:?}") };
    assert!(!refused.at(0) && refused.at(1));
    assert_eq!(refused.found::<Thing>(1).expect("a thing").and_then(|found| found.number), Some(1));
    assert!(scene.read("B").await.is_some() && scene.read("C").await.is_none());
    let nothing_there = vec![new("D"), scene.table.check(key("E"), Condition::missing(Key::PARTITION))];
    scene.dynamo.transact(nothing_there).await.expect("item E does not exist");
    let refused = scene.dynamo.write(if_number(2)).await;
    assert!(is_refused(&refused), "a single check is a transaction");
}

/// Items of one list with the same end date. Each item has `bytes` bytes of data.
fn alike(count: usize, bytes: usize) -> Vec<Thing> {
    (0..count).map(|number| Thing { data: "x".repeat(bytes), ..thing(&format!("{number:04}")) }).collect()
}

fn year() -> KeyRange {
    EndDateSort::within(Period::of_year("2020".parse().expect("a year")))
}

#[tokio::test]
async fn query_all_returns_every_item_with_the_same_sort_key() {
    let scene = Scene::start().await;
    let things = alike(60, 60_000);
    scene.seed(&things).await;
    let range = year();
    let query = || Query::new(&"L", &range).on(&scene.index);
    let mut read: Vec<Value> =
        scene.table.query_all::<OfIndex>(&query()).await.expect("read").items.into_iter().map(|it| it.0).collect();
    assert!(scene.proxy.count("Query") > 3, "one call returns at most 1 MB");
    read.sort_by_key(|item| item["PK"].to_string());
    let ids: Vec<&str> = read.iter().filter_map(|item| item["PK"].as_str()).collect();
    assert_eq!(ids, things.iter().map(|thing| thing.partition.as_str()).collect::<Vec<_>>());
    scene.proxy.heal();
    assert_eq!(scene.table.count(&query()).await.expect("counted"), 60);
    assert!(scene.proxy.count("Query") > 3 && scene.proxy.calls().iter().all(|call| call.body["Select"] == "COUNT"));
    let of_none = Query::new(&"M", &range).on(&scene.index);
    assert_eq!(scene.table.count(&of_none).await.expect("counted"), 0);
}

/// An index entry.
#[derive(Debug, Serialize, Deserialize)]
struct OfIndex(Value);

impl Item for OfIndex {
    const TYPE: &'static str = "Thing";
}

#[tokio::test]
async fn query_all_rejects_a_range_that_is_too_large() {
    let scene = Scene::start().await;
    scene.seed(&alike(35, 390_000)).await;
    let range = year();
    let query = Query::new(&"L", &range).on(&scene.index);
    let read = scene.table.query_all::<OfIndex>(&query).await;
    assert!(matches!(read, Err(Error::TooMuch)), "{:?}", read.map(|page| page.items.len()));
    assert_eq!(scene.table.count(&query).await.expect("counted"), 35);
}

#[tokio::test]
async fn query_all_reads_an_item_collection_with_strong_consistency() {
    let scene = Scene::start().await;
    let parts: Vec<Thing> = (0..40)
        .map(|number| Thing { sort: format!("Program#Part#{number:02}"), data: "x".repeat(60_000), ..thing("A") })
        .collect();
    scene.seed(&parts).await;
    let range = Level::Program.range();
    let query = Query::new(&"A", &range);
    assert_eq!(scene.table.query_all::<Thing>(&query).await.expect("read").items, parts);
    let all = |call: &Call| call.body["ConsistentRead"] == json!(true);
    assert!(scene.proxy.calls().len() > 2 && scene.proxy.calls().iter().all(all));
    for (query, consistent) in [(Query::new(&"A", &range), false), (Query::new(&"A", &range).consistent(), true)] {
        scene.proxy.heal();
        assert_eq!(scene.table.count(&query).await.expect("counted"), 40);
        assert!(scene.proxy.calls().iter().all(|call| all(call) == consistent), "consistency as requested");
    }
}

#[tokio::test]
async fn get_all_returns_all_existing_items_despite_duplicates_and_unprocessed_keys() {
    let scene = Scene::start().await;
    let things = alike(230, 10);
    scene.seed(&things).await;
    let known = things.iter().map(|thing| key(&thing.partition));
    let unknown = (0..20).map(|number| key(&format!("unknown {number}")));
    let keys: Vec<Key> = known.clone().chain(unknown).chain(known).collect();
    for (consistent, fault) in [(true, None), (false, Some(Fault::Partly(7))), (true, Some(Fault::Partly(0)))] {
        scene.proxy.rule(move |call| match &fault {
            Some(fault) if call.nth % 2 == 1 => fault.clone(),
            _ => Fault::None,
        });
        let found = scene.table.get_all::<Thing>(&keys, consistent).await.expect("read").items;
        assert_eq!(found.len(), things.len());
        assert!(things.iter().all(|thing| found.get(&key(&thing.partition)) == Some(thing)));
        let calls = scene.proxy.calls();
        let asks = |call: &Call| {
            call.body["RequestItems"]
                .as_object()
                .expect("tables")
                .values()
                .all(|it| it["ConsistentRead"] == json!(consistent))
        };
        assert!(calls.len() >= 3 && calls.iter().all(asks));
    }
    scene.proxy.heal();
    assert!(scene.table.get_all::<Thing>(&[], true).await.expect("nothing").items.is_empty());
    assert_eq!(scene.proxy.calls().len(), 0, "a read of no keys makes no call");
}

/// A thing without the attribute `Data`.
#[derive(Serialize, Deserialize)]
struct Torn {
    #[serde(rename = "PK")]
    partition: String,
    #[serde(flatten)]
    rest: Value,
}

impl Item for Torn {
    const TYPE: &'static str = "Thing";
}

#[tokio::test]
async fn lists_skip_and_count_an_unreadable_item_and_reads_by_key_fail() {
    let scene = Scene::start().await;
    let things = ["A", "C"].map(thing);
    scene.seed(&things).await;
    let torn = Torn { partition: "B".to_owned(), rest: json!({"SK": SORT, "GSI1PK": "L", "GSI1SK": END}) };
    scene.dynamo.write(scene.table.put(&torn).expect("a change")).await.expect("put");
    let range = year();
    let query = || Query::new(&"L", &range).on(&scene.index);
    let keys = ["A", "B", "C"].map(key);
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    let ((), usage) = measured(deadline, async {
        let page = scene.table.page::<Thing>(&query(), 3).await.expect("a page");
        assert_eq!((page.items.len(), page.skipped), (2, 1));
        let short = scene.table.page::<Thing>(&query(), 2).await.expect("a page");
        assert_eq!(short.items.len() + short.skipped, 2, "a skipped item counts towards the limit");
        let all = scene.table.query_all::<Thing>(&query()).await.expect("all");
        assert_eq!((all.items.len(), all.skipped), (2, 1));
        assert!(matches!(all.complete(), Err(Error::Unreadable("Thing", _))));
        for projection in [Projection::All, Projection::Narrow, Projection::KeysOnly] {
            let (partitions, behind) = (vec!["L".to_owned()], None);
            let list = MergedQuery { index: &scene.index, projection, partitions, range: &range, behind };
            let (merged, unreadable) = scene.table.merged_page::<Thing>(list, 3, |_| true).await.expect("a page");
            assert_eq!((merged.items.len(), merged.skipped), (2, 1), "{projection:?}");
            assert_eq!(unreadable, [key("B")], "{projection:?}");
        }
        let (_, of_page) = scene.table.page_with_unreadable::<Thing>(&query(), 3).await.expect("a page");
        let (_, of_all) = scene.table.query_all_with_unreadable::<Thing>(&query()).await.expect("all");
        assert_eq!((of_page, of_all), (vec![key("B")], vec![key("B")]));
        let found = scene.table.get_all::<Thing>(&keys, true).await.expect("read");
        assert_eq!((found.items.len(), &found.unreadable), (2, &vec![key("B")]));
        assert!(found.complete().is_err());
        assert!(matches!(scene.table.get::<Thing>(&key("B")).await, Err(Error::Unreadable("Thing", _))));
    })
    .await;
    assert!(usage.unreadable >= 6, "each read counts the item: {usage:?}");
    assert!(usage.unreadable_items.iter().all(|item| *item == ("Thing", Some(key("B")))), "{usage:?}");
}

#[tokio::test]
async fn an_empty_page_with_a_position_does_not_end_a_merged_list() {
    let scene = Scene::start().await;
    scene.seed(&alike(30, 10)).await;
    scene.proxy.rule(|call| if call.nth == 1 { Fault::Torn(usize::MAX) } else { Fault::None });
    let (range, partitions) = (year(), vec!["L".to_owned()]);
    let list =
        MergedQuery { index: &scene.index, projection: Projection::All, partitions, range: &range, behind: None };
    let (page, _) = scene.table.merged_page::<Thing>(list, 5, |_| true).await.expect("a page");
    assert_eq!(page.items.len(), 5);
}

#[tokio::test]
async fn counter_is_created_and_stops_at_its_limit() {
    let scene = Scene::start().await;
    let another = || {
        let count = scene.table.upsert(key("A")).set(Thing::LIST, &"L").set(Thing::END, &END).set(Thing::DATA, &"");
        count.add(Thing::NUMBER, 2).only_if(Condition::missing_or_under(Thing::NUMBER, 4))
    };
    for wanted in [2, 4] {
        let counted: Thing = scene.dynamo.update(another()).await.expect("counted");
        assert_eq!(counted.number, Some(wanted));
    }
    let refused = scene.dynamo.write(another()).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    assert_eq!(scene.read("A").await.and_then(|thing| thing.number), Some(4));
}

fn request(text: &str) -> Fingerprint {
    Fingerprint::of(&[text])
}

#[tokio::test]
async fn an_idempotent_request_is_stored_once_per_owner_for_a_week() {
    let scene = Scene::start().await;
    let now =
        TimestampMillis::containing("2030-01-01T00:00:00.5Z".parse::<Timestamp>().expect("a time")).expect("a time");
    let key: IdempotencyKey = "K".parse().expect("a key");
    let once = |owner: &str, asked: &str| IdempotentRequest::new(&scene.table, &owner, Some(&key), request(asked), now);
    let with = |once: &IdempotentRequest<'_>, id: &str, outcome: i64| {
        let remember = once.remember(&outcome).expect("an attribute").expect("a key");
        vec![scene.table.put_new(&thing(id)).expect("a change"), remember]
    };
    let first = once("O", "one");
    assert_eq!(first.before::<i64>().await.expect("read"), None);
    scene.dynamo.transact(with(&first, "A", 7)).await.expect("done");
    assert_eq!(first.before::<i64>().await.expect("read"), Some(7));
    let refused = scene.dynamo.transact(with(&first, "B", 8)).await;
    let Err(Error::Refused(refused)) = refused else { unreachable!("{refused:?}") };
    assert!(refused.at(1) && !refused.at(0) && scene.read("B").await.is_none(), "the second request writes nothing");
    assert!(matches!(once("O", "another").before::<i64>().await, Err(Failure::KeyReused)));
    assert_eq!(once("P", "another").before::<i64>().await.expect("read"), None, "keys are scoped to their owner");
    let keyless = IdempotentRequest::new(&scene.table, &"O", None, request("one"), now);
    assert!(keyless.remember(&1).expect("nothing").is_none());
    assert_eq!(keyless.before::<i64>().await.expect("read"), None);
    let record: OfIndex = scene.table.get(&Key::new(&"O", &"IDEMPOTENCY#K")).await.expect("read").expect("a record");
    assert_eq!(record.0["ExpiresAt"], json!(now.second().plus_days(7).instant().as_second()));
    assert_eq!(record.0["Outcome"], json!("7"), "as JSON text");
}

fn payment_at(seconds: i64) -> PaymentId {
    let time = Timestamp::from_second(seconds).expect("a time");
    PaymentId::new(TimestampSeconds::containing(time).expect("a second"), time, &Random::seeded(1))
}

proptest! {
    #[test]
    fn opening_a_cursor_returns_the_range_after_its_position(seconds in 1_700_000_000_i64..4_000_000_000, started in 0_i64..4_000_000_000) {
        let due = DueSort { status: Status::Pending, payment: payment_at(seconds) };
        let range = DueSort::due_on(due.payment.time().day(), due.status);
        let cursor = Cursor::new(Binding::new("a").with("b"), started, &range, &due.to_string());
        let parsed: Cursor = cursor.to_string().parse().expect("a cursor");
        prop_assert_eq!(parsed.started(), started);
        prop_assert_eq!(parsed.open(Binding::new("a").with("b"), &range), Ok(range.after(&due.to_string())));
        prop_assert!(cursor.to_string().len() <= 110);
        prop_assert!(cursor.to_string().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    }

    #[test]
    fn rejects_a_cursor_of_another_list(seconds in 1_700_000_000_i64..4_000_000_000) {
        let day = payment_at(seconds).time().day();
        let range = DueSort::due_on(day, Status::Pending);
        let position = DueSort { status: Status::Pending, payment: payment_at(seconds) }.to_string();
        let cursor = Cursor::new(Binding::new("a").with("b"), 1, &range, &position);
        for (binding, range) in [
            (Binding::new("ab"), range.clone()),
            (Binding::new("a").with("c"), range.clone()),
            (Binding::new("").with("ab"), range.clone()),
            (Binding::new("a").with("b"), DueSort::due_on(day, Status::Failed)),
            (Binding::new("a").with("b"), DueSort::due_on(day.before(), Status::Pending)),
        ] {
            prop_assert_eq!(cursor.open(binding, &range), Err(BadCursor));
        }
    }

    #[test]
    fn rejects_an_edited_cursor(at in 0_usize..80, with in "[A-Za-z0-9_=+/ -]") {
        let range = DueSort::with_status(&Status::Pending);
        let position = DueSort { status: Status::Pending, payment: payment_at(1_800_000_000) }.to_string();
        let text = Cursor::new(Binding::new("a"), 1, &range, &position).to_string();
        prop_assume!(text[at..=at] != with);
        let changed = format!("{}{with}{}", &text[..at], &text[at + 1..]);
        let opened = changed.parse().and_then(|cursor: Cursor| cursor.open(Binding::new("a"), &range));
        prop_assert_eq!(opened, Err(BadCursor));
    }
}

#[derive(Default, Serialize, Attributes)]
#[serde(rename_all = "PascalCase", default)]
struct Example {
    #[serde(rename = "PK")]
    partition: u8,
    #[serde(default, rename = "UserID", skip_serializing_if = "Option::is_some")]
    user: Option<u8>,
    earned_points: u8,
    gsi1_name: u8,
    r#type: u8,
    #[serde(flatten)]
    rest: Rest,
    #[serde(skip)]
    _cached: u8,
}

#[derive(Default, Serialize, Attributes)]
struct Rest {
    plain_name: u8,
    #[serde(rename = "LastLegAt")]
    other: u8,
}

#[test]
fn constants_of_attributes_equal_the_serde_names() {
    let written = serde_json::to_value(Example::default()).expect("JSON");
    let written: BTreeSet<_> = written.as_object().expect("an object").keys().map(String::as_str).collect();
    let own = [Example::PARTITION, Example::USER, Example::EARNED_POINTS, Example::GSI1_NAME, Example::TYPE];
    let names = own.into_iter().chain([Rest::PLAIN_NAME, Rest::OTHER]).map(Attribute::as_str);
    assert_eq!(names.collect::<BTreeSet<_>>(), written);
    let all = Example::ATTRIBUTES.iter().chain(Rest::ATTRIBUTES).map(|attribute| attribute.as_str());
    assert_eq!(all.collect::<BTreeSet<_>>(), written);
}

#[test]
fn json_text_is_stored_and_read_unchanged() {
    for json in ["null", "1e999", "0.1000", "{\"b\":1, \"a\":12345678901234567890.123456789}", "\"\\u0000\"", "[[]]"] {
        let data = JsonText::from(RawValue::from_string(json.to_owned()).expect("JSON"));
        let stored = serde_json::to_string(&data).expect("text");
        assert_eq!(serde_json::from_str::<JsonText>(&stored).expect("stored").text(), json);
    }
}
