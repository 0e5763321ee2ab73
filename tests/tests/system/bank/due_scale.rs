//! Tests of a list of 10,000 payments on one date. The list is complete and sorted, and the cost of
//! a page does not grow with the number of payments.

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use bank::Payment;
use futures::future::join_all;
use keys::{
    Shards,
    bank::{DueSort, Status},
};
use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};
use system_tests::{
    Answer, Client,
    bank::{ask_to_move, payments_table, put, schedule, scheduled_payment, second_of, stack_with},
    stack, text, texts,
};
use table::{Index, Page, Projection, ShardedIndex, Table, Units, Usage, measured};
use tokio::time::Instant;

const DATE: &str = "2099-12-01";
const DUE: &str = "/bank/payments/due?date=2099-12-01";
const SHARDS: usize = 5;

/// Returns payments of 2,000 accounts, spread over a day and five shards. Payments 3,000 to 3,699
/// are due in the same second.
fn many(date: &str, count: usize) -> Vec<Payment> {
    let second = |number: usize| match number {
        3_000..3_700 => 30_000,
        _ => number * 86_400 / count,
    };
    let one = |number: usize| {
        let due = second_of(date, i64::try_from(second(number).min(86_399)).expect("a second"));
        scheduled_payment(&format!("A-{}", number % 2_000), due, number % SHARDS)
    };
    (0..count).map(one).collect()
}

/// Payment ids in order of scheduled time.
fn in_order(payments: &[Payment]) -> Vec<String> {
    let mut ids: Vec<_> = payments.iter().map(Payment::id).collect();
    ids.sort_unstable();
    ids.iter().map(ToString::to_string).collect()
}

/// Sort keys of the payments in the sharded index, in index order.
fn positions(payments: &[Payment]) -> Vec<String> {
    let mut positions: Vec<_> = payments.iter().map(|payment| payment.due).collect();
    positions.sort_unstable();
    positions.iter().map(ToString::to_string).collect()
}

fn index(projection: Projection, shards: u16) -> ShardedIndex {
    let name = if projection == Projection::All { "GSI1All" } else { "GSI1" };
    let index = Index { name: name.into(), partition: Payment::SHARD, sort: Payment::DUE };
    ShardedIndex { index, projection, shards: Shards::new(shards, shards).expect("shards") }
}

/// Starts two stacks that share their tables. The first uses the `KEYS_ONLY` index, the second uses
/// the `ALL` index. Returns the stacks and their operators' clients.
async fn with_both_indexes() -> ([Stack; 2], [Client; 2]) {
    let (first, keys_only) = stack_with("KEYS_ONLY_AND_ALL").await;
    let second = stack().parameter("IndexProjection", "ALL_AND_KEYS_ONLY").dynamo_endpoint(first.dynamo_url());
    let second = second.start().await.expect("a stack");
    let all = Client::operator(&second);
    ([first, second], [keys_only, all])
}

/// Number of DynamoDB calls and consumed RRUs of a request, by table and index.
fn consumed(answer: &Answer) -> BTreeMap<String, (usize, f64)> {
    let rows: Vec<Value> = serde_json::from_slice(answer.headers["x-local-consumed"].as_bytes()).expect("JSON");
    let mut places = BTreeMap::<_, (usize, f64)>::new();
    for row in rows {
        let place = places.entry(format!("{}{}", row["table"], row["index"])).or_default();
        place.0 += 1;
        place.1 += row["read"].as_f64().expect("a number");
    }
    places
}

#[tokio::test]
async fn ten_thousand_payments_are_listed_in_order_at_a_constant_cost_per_page() {
    let (stacks, clients) = with_both_indexes().await;
    let (mut wanted, mut last) = (Vec::new(), Vec::new());
    for (date, count) in [("2099-11-01", 100), ("2099-11-02", 1_000), (DATE, 10_000)] {
        let payments = many(date, count);
        put(&stacks[0], &payments).await;
        wanted = in_order(&payments);
        last = positions(&payments);
    }
    for client in &clients {
        let (items, pages) = client.all(&format!("{DUE}&limit=100")).await;
        assert_eq!(texts(&items, "paymentId"), wanted);
        assert!((100..=101).contains(&pages), "{pages}");
        let accounts: BTreeSet<_> = texts(&items, "accountId").into_iter().collect();
        assert_eq!(accounts.len(), 2_000);
        for limit in [1, 5, 50, 100] {
            let mut costs = Vec::new();
            for date in ["2099-11-01", "2099-11-02", DATE] {
                let page = client.get(&format!("/bank/payments/due?date={date}&limit={limit}")).await;
                assert_eq!(page.body["items"].as_array().map(Vec::len), Some(limit));
                costs.push(consumed(&page));
            }
            // The first date has only 100 payments. With limit 100, each shard returns only its
            // remaining items.
            let first = usize::from(limit == 100);
            assert!(costs[first..].windows(2).all(|two| two[0] == two[1]), "{limit}: {costs:#?}");
        }
    }
    assert_eq!(clients[0].get(DUE).await.body["items"].as_array().map(Vec::len), Some(50), "the default limit");
    let (table, before_the_crowd) = (payments_table(&stacks[0]), &last[2_949]);
    for projection in [Projection::KeysOnly, Projection::All] {
        let ids = walk(&table, &index(projection, 5), DATE, Some(before_the_crowd.as_str()), 100, 8).await;
        assert_eq!(ids, wanted[2_950..3_750]);
    }
    let [first, second] = stacks;
    second.stop().await;
    first.stop().await;
}

async fn page(
    table: &Table,
    index: &ShardedIndex,
    date: &str,
    after: Option<&str>,
    limit: usize,
) -> (Page<Payment>, Usage) {
    let range = DueSort::due_on(date.parse().expect("a day"), Status::Scheduled);
    let rest = after.map_or_else(|| range.clone(), |position| range.after(position));
    let deadline = Instant::now() + Duration::from_mins(1);
    let (page, usage) = measured(deadline, Box::pin(table.sharded_page::<Payment>(index, &rest, limit))).await;
    (page.expect("a page"), usage)
}

/// Reads up to `pages` pages after the position. Returns the payment ids on these pages. Checks
/// that no page reads many more entries than it returns.
async fn walk(
    table: &Table,
    index: &ShardedIndex,
    date: &str,
    after: Option<&str>,
    limit: usize,
    pages: usize,
) -> Vec<String> {
    let (mut ids, mut position) = (Vec::new(), after.map(str::to_owned));
    for _ in 0..pages {
        let (page, usage) = page(table, index, date, position.as_deref(), limit).await;
        let (items, shards) = (page.items.len(), index.shards.read().len());
        let (items_worth, one) = match index.projection {
            // Each index entry is a full item.
            Projection::All => (f64::from(u32::try_from(usage.scanned).expect("a number")), 1.0),
            // Reading one item of this test consumes half an RRU, and so does reading 4 KB of index
            // entries.
            Projection::KeysOnly => (usage.calls.iter().map(|call| call.read.as_f64()).sum(), 0.5),
        };
        let most = one * f64::from(u32::try_from(items + items / 2 + shards).expect("a number"));
        assert!(items_worth <= most, "{date} by {limit} of {shards} shards: read {items_worth}, returned {items}");
        ids.extend(page.items.iter().map(|payment| payment.id().to_string()));
        assert!(items == limit || page.next.is_none(), "{date} by {limit}: a short page in the middle");
        let Some(next) = page.next else { break };
        position = Some(next);
    }
    ids
}

/// Distributions of payments over shards: random, even, all on one shard, 90 % on one shard, groups
/// of 25 consecutive payments on one shard, and one contiguous part of the payments per shard.
const SPREADS: [fn(usize, usize, usize) -> usize; 6] = [
    |number, _, shards| by_chance(number, shards),
    |number, _, shards| number % shards,
    |_, _, shards| shards - 1,
    |number, _, shards| if number % 10 == 9 { number / 10 % shards } else { 0 },
    |number, _, shards| number / 25 % shards,
    |number, count, shards| number * shards / count,
];

/// Returns a pseudo-random shard, which is the same in each run.
fn by_chance(number: usize, shards: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    usize::try_from(hasher.finish() % shards as u64).expect("a shard")
}

#[tokio::test]
async fn page_needs_one_query_per_randomly_filled_shard() {
    const COUNT: usize = 1_000;
    let (stack, _) = stack_with("KEYS_ONLY").await;
    let table = payments_table(&stack);
    for (day, shards, limit, halves) in [(1, 5, 50, 1), (1, 5, 100, 2), (2, 20, 50, 1), (2, 20, 100, 1)] {
        let date = format!("2099-10-{day:02}");
        let one = |number: usize| {
            let account = format!("{number:08}-0000-4000-8000-000000000000");
            scheduled_payment(
                &account,
                second_of(&date, i64::try_from(number * 80).expect("a second")),
                by_chance(number, shards),
            )
        };
        let those: Vec<_> = (0..COUNT).map(one).collect();
        if limit == 50 {
            put(&stack, &those).await;
        }
        let index = index(Projection::KeysOnly, u16::try_from(shards).expect("a number"));
        let (page, usage) = page(&table, &index, &date, None, limit).await;
        let accounts = |payments: &[Payment]| -> Vec<_> { payments.iter().map(|one| one.account.clone()).collect() };
        assert_eq!(accounts(&page.items), accounts(&those[..limit]));
        let [read] =
            usage.calls.iter().filter(|call| call.index.is_some()).map(|call| call.read).collect::<Vec<_>>()[..]
        else {
            panic!("{:?}", usage.calls)
        };
        // A second query would consume another half RRU.
        assert_eq!(read, Units::halves(halves * shards as u64), "{limit} of {shards} shards");
    }
    stack.stop().await;
}

#[tokio::test]
async fn page_reads_few_extra_entries_for_any_distribution_over_shards() {
    const COUNT: usize = 130;
    let ([stack, other], _) = with_both_indexes().await;
    let (table, mut days) = (payments_table(&stack), 1..);
    for shards in [1_usize, 2, 5, 20] {
        for spread in SPREADS.iter().take(if shards == 1 { 1 } else { SPREADS.len() }) {
            let day: u32 = days.next().expect("a day");
            let date = format!("2099-{:02}-{:02}", 1 + day / 28, 1 + day % 28);
            let due = |number: usize| second_of(&date, i64::try_from(number * 300).expect("a second"));
            let one = |number: usize| scheduled_payment("A-1", due(number), spread(number, COUNT, shards));
            let those: Vec<_> = (0..COUNT).map(one).collect();
            put(&stack, &those).await;
            let wanted = in_order(&those);
            let both = [Projection::KeysOnly, Projection::All];
            for projection in both.into_iter().take(if shards == 5 { 2 } else { 1 }) {
                let index = index(projection, u16::try_from(shards).expect("a number"));
                for (limit, pages) in [(1, 2), (5, 3), (50, 3), (100, 2)] {
                    let ids = walk(&table, &index, &date, None, limit, pages).await;
                    assert_eq!(ids, wanted[..COUNT.min(limit * pages)], "{date} by {limit} of {shards} shards");
                }
            }
        }
    }
    other.stop().await;
    stack.stop().await;
}

/// Changes payments while the list is read: adds payments before and after the reader's position,
/// and changes statuses.
async fn change(client: &Client, round: usize, movers: Vec<Value>) {
    for hour in ["00", "12", "23"] {
        schedule(client, "new", &format!("{DATE}T{hour}:30:{:02}Z", round % 60)).await;
    }
    let status = if round.is_multiple_of(2) { "PENDING" } else { "CANCELLED" };
    let answers = join_all(movers.iter().map(|mover| ask_to_move(client, mover, status, ""))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
}

/// Selects the payments to change now: the next four after the reader's position, the last payment,
/// and one payment that the reader has already read.
fn some_around(reader: &str, movers: &mut Vec<Value>) -> Vec<Value> {
    let ahead = movers.partition_point(|mover| text(mover, "paymentId") <= reader);
    let mut some: Vec<Value> = movers.drain(ahead..movers.len().min(ahead + 4)).collect();
    some.extend(movers.pop());
    if ahead > 0 && !movers.is_empty() {
        some.push(movers.remove(0));
    }
    some
}

async fn reader_misses_no_payment_under_concurrent_changes(projection: &str) {
    let (stack, client) = stack_with(projection).await;
    put(&stack, &many(DATE, 1_000)).await;
    let (all, _) = client.all(&format!("{DUE}&limit=100")).await;
    let (movers, staying): (Vec<_>, Vec<_>) = all.into_iter().enumerate().partition(|(number, _)| number % 7 == 3);
    let mut movers: Vec<Value> = movers.into_iter().map(|(_, mover)| mover).collect();
    let (mut seen, mut cursor, mut moved) = (Vec::<Value>::new(), String::new(), BTreeSet::new());
    for round in 0..100 {
        let path = format!("{DUE}&limit=37{cursor}");
        let some = some_around(seen.last().map_or("", |last| text(last, "paymentId")), &mut movers);
        moved.extend(texts(&some, "paymentId").into_iter().map(str::to_owned));
        let (page, ()) = tokio::join!(client.get(&path), change(&client, round, some));
        assert_eq!(page.status, 200, "{}", page.body);
        seen.extend(page.body["items"].as_array().expect("items").iter().cloned());
        let Some(next) = page.body["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
        assert!(round < 99, "the list does not end");
    }
    assert!(seen.iter().all(|item| item["status"] == "SCHEDULED"));
    let ids = texts(&seen, "paymentId");
    assert!(ids.windows(2).all(|two| two[0] < two[1]), "items must be in time order and unique");
    let seen: BTreeSet<_> = ids.into_iter().collect();
    let stayed = staying.iter().map(|(_, item)| item).chain(&movers);
    assert_eq!(stayed.filter(|item| !seen.contains(text(item, "paymentId"))).count(), 0, "missing");
    let shown = moved.iter().filter(|id| seen.contains(id.as_str())).count();
    assert!(0 < shown && shown < moved.len(), "{shown} of {} were read before they moved", moved.len());
    stack.stop().await;
}

system_tests::on_both_projections! {
    reader_misses_no_payment_under_concurrent_changes
}

#[tokio::test]
async fn no_payment_is_missed_if_readers_read_added_shards_first() {
    let (one, first) = stack_with("KEYS_ONLY").await;
    let grown = |write: &str, read: &str| {
        let shards = stack().parameter("WriteShards", write).parameter("ReadShards", read);
        shards.dynamo_endpoint(one.dynamo_url()).start()
    };
    let (readers, writers) = (grown("5", "7").await.expect("a stack"), grown("7", "7").await.expect("a stack"));
    let (reading, writing) = (Client::operator(&readers), Client::operator(&writers));
    let mut count = 0;
    for (writer, readers) in
        [(&first, vec![&first, &reading]), (&reading, vec![&first, &reading]), (&writing, vec![&reading, &writing])]
    {
        for _ in 0..40 {
            schedule(writer, "A-1", "2099-12-01T09:30:00Z").await;
            count += 1;
        }
        for reader in readers {
            assert_eq!(reader.all(&format!("{DUE}&limit=30")).await.0.len(), count);
        }
    }
    assert!(first.all(DUE).await.0.len() < count, "the new shards are not used");
    for stack in [writers, readers, one] {
        stack.stop().await;
    }
}

/// Proxy that changes the status of a payment between the read of the index and the read of the
/// items.
#[derive(Clone)]
struct Detour {
    engine: String,
    mover: Client,
    payment: Value,
}

async fn pass(State(detour): State<Detour>, headers: HeaderMap, body: Bytes) -> (StatusCode, Bytes) {
    let target = headers["x-amz-target"].to_str().expect("a target");
    if target.ends_with("BatchGetItem") {
        ask_to_move(&detour.mover, &detour.payment, "PENDING", "").await;
    }
    let forwarded = reqwest::Client::new().post(&detour.engine).headers(headers.clone()).body(body);
    let answer = forwarded.send().await.expect("an answer");
    (answer.status(), answer.bytes().await.expect("a body"))
}

#[tokio::test]
async fn list_omits_a_payment_that_changes_between_index_and_table_read() {
    let (stack, client) = stack_with("KEYS_ONLY").await;
    let mut payments = Vec::new();
    for second in 0..5 {
        payments.push(schedule(&client, "A-1", &format!("{DATE}T09:30:0{second}Z")).await);
    }
    let payment = payments.remove(1);
    let detour = Detour { engine: stack.dynamo_url().to_owned(), mover: client.clone(), payment };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let router = axum::Router::new().fallback(pass).with_state(detour);
    let proxy = tokio::spawn(axum::serve(listener, router).into_future());
    let reading = system_tests::stack().dynamo_endpoint(url).start().await.expect("a stack");
    let reader = Client::operator(&reading);
    assert_eq!(reader.get(&format!("{DUE}&limit=3")).await.body["items"], json!(payments[..2]));
    assert_eq!(reader.all(&format!("{DUE}&limit=3")).await.0, payments);
    proxy.abort();
    reading.stop().await;
    stack.stop().await;
}
