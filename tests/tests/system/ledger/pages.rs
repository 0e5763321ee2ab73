//! Tests lists of transactions with equal sort keys. At every page size, a list contains each
//! transaction once, in order.

use aws_sdk_dynamodb::types::AttributeValue;
use fastrand::Rng;
use local::Stack;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use system_tests::{
    Client,
    ledger::{Books, TRANSACTIONS, status_shards},
};

const LIMITS: [usize; 5] = [1, 2, 3, 7, 100];
const DAY: &str = "2099-11-30T12:00";

type Item = HashMap<String, AttributeValue>;

fn text(item: &Item, name: &str) -> String {
    item[name].as_s().expect("a text").clone()
}

/// Starts a stack with the given number of shards, and returns the header of a posted transaction.
async fn start(shards: u16) -> (Stack, Item) {
    let stack = status_shards(shards, shards).start().await.expect("a stack");
    let books = Books::of(stack).await;
    books.funded("ann", "1.00").await;
    let client = books.stack.client().expect("a client");
    let table = books.stack.table("FinancialTransactions").expect("a table");
    let items = client.scan().table_name(table).into_paginator().items().send();
    let items: Vec<Item> = items.collect::<Result<_, _>>().await.expect("items");
    let header = items.into_iter().find(|item| text(item, "Type") == "Transaction").expect("a transaction");
    (books.stack, header)
}

/// Puts copies of the header directly into DynamoDB. Each copy has its own id, time (second and
/// millisecond) and shard.
async fn put(stack: &Stack, header: &Item, transactions: &[(String, String, usize)]) {
    let client = stack.client().expect("a client");
    let table = stack.table("FinancialTransactions").expect("a table");
    for (id, time, shard) in transactions {
        let time = format!("{DAY}:{time}Z");
        let partition = if *shard == 0 { "STATUS#completed".to_owned() } else { format!("STATUS#completed#{shard}") };
        let mut item = header.clone();
        let keys = [
            ("PK", format!("TXN#{id}")),
            ("ID", id.clone()),
            ("GSI1PK", partition),
            ("GSI1SK", format!("CREATED#{time}")),
            ("GSI2PK", "IDEMPOTENCY#K".to_owned()),
            ("IdempotencyKey", "K".to_owned()),
            ("CreatedAt", time),
        ];
        item.extend(keys.map(|(name, value)| (name.to_owned(), AttributeValue::S(value))));
        client.put_item().table_name(table).set_item(Some(item)).send().await.expect("put");
    }
}

fn told(items: &[Value]) -> Vec<(String, String)> {
    let text = |item: &Value, name: &str| item[name].as_str().expect("a text").to_owned();
    items.iter().map(|item| (text(item, "createdAt"), text(item, "transactionId"))).collect()
}

/// Checks every time range at every page size.
async fn lists(stack: &Stack, transactions: &[(String, String, usize)], name: &str) {
    let client = Client::operator(stack);
    let times: BTreeSet<&str> = transactions.iter().map(|(_, time, _)| time.as_str()).collect();
    let ends = times.iter().flat_map(|since| times.iter().map(move |until| (*since, *until)));
    for (since, until) in ends.filter(|(since, until)| since <= until) {
        let within = |time: &str| (since..=until).contains(&time);
        let mut orders = BTreeMap::<_, usize>::new();
        for limit in LIMITS {
            let path = format!("{TRANSACTIONS}?since={DAY}:{since}Z&until={DAY}:{until}Z&limit={limit}");
            let (items, pages) = client.all(&path).await;
            let listed = told(&items);
            let when = format!("{name}, {since} to {until}, {limit} a page");
            assert!(listed.is_sorted_by_key(|(created, _)| created.clone()), "{when}: {listed:#?}");
            let right = transactions.iter().filter(|(_, time, _)| within(time));
            let right: BTreeSet<_> = right.map(|(id, time, _)| (format!("{DAY}:{time}Z"), id.clone())).collect();
            assert_eq!(listed.len(), right.len(), "{when}: each transaction is listed once");
            assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), right, "{when}");
            assert!(pages <= right.len() / limit + 1, "{when}: {pages} pages for {}", right.len());
            *orders.entry(listed).or_default() += 1;
        }
        assert_eq!(orders.len(), 1, "{name}: the order must not depend on the page size");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_with_equal_times_are_listed_once() {
    for used in [&[0][..], &[0, 1, 2, 3, 4], &[4], &[1, 3]] {
        for shards in [1, 5].into_iter().filter(|shards| used.iter().all(|shard| *shard < usize::from(*shards))) {
            let (stack, header) = start(shards).await;
            let mut rng = Rng::with_seed(7);
            let times = ["00.123", "00.124", "00.124", "00.124", "01.000"];
            let mut transaction = |number: usize| {
                let id = format!("T-{:016x}-{number}", rng.u64(..));
                let time = rng.choice(times).expect("a time").to_owned();
                (id, time, *rng.choice(used).expect("a shard"))
            };
            let transactions: Vec<_> = (0..24).map(&mut transaction).collect();
            put(&stack, &header, &transactions).await;
            lists(&stack, &transactions, &format!("{used:?} of {shards} shards")).await;
        }
    }
}

/// Each shard has one to four transactions per time, so pages of the tested sizes end between
/// transactions with equal times.
#[tokio::test(flavor = "multi_thread")]
async fn lists_every_transaction_if_a_page_ends_between_equal_times() {
    for per_shard in 1..=4 {
        let (stack, header) = start(3).await;
        let of_shard = |shard: usize| {
            let all = ["00.123", "00.124"].into_iter().flat_map(move |time| (0..per_shard).map(move |it| (time, it)));
            all.map(move |(time, number)| (format!("T-{shard}-{number}-{time}"), time.to_owned(), shard))
        };
        let transactions: Vec<_> = (0..3).flat_map(of_shard).collect();
        put(&stack, &header, &transactions).await;
        lists(&stack, &transactions, &format!("{per_shard} a shard")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_with_a_shared_key_are_listed_once() {
    let (stack, header) = start(5).await;
    let transaction = |number: usize| (format!("T-{number}"), format!("00.{number:03}"), number % 5);
    let transactions: Vec<_> = (0..30).map(transaction).collect();
    put(&stack, &header, &transactions).await;
    let client = Client::operator(&stack);
    for limit in LIMITS {
        let (items, _) = client.all(&format!("{TRANSACTIONS}?idempotencyKey=K&limit={limit}")).await;
        let listed: BTreeSet<_> = told(&items).into_iter().map(|(_, id)| id).collect();
        assert_eq!((items.len(), listed), (30, transactions.iter().map(|(id, ..)| id.clone()).collect()), "{limit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn list_includes_shards_added_between_pages() {
    let (five, header) = start(5).await;
    let one = status_shards(1, 1).dynamo_endpoint(five.dynamo_url()).start().await.expect("a stack");
    let transaction = |number: usize, shard| (format!("T-{number:02}"), "00.123".to_owned(), shard);
    let old: Vec<_> = (0..6).map(|number| transaction(number, 0)).collect();
    let new: Vec<_> = (6..12).map(|number| transaction(number, 1 + number % 4)).collect();
    put(&five, &header, &[&old[..], &new[..]].concat()).await;
    let path = |limit: usize| format!("{TRANSACTIONS}?since={DAY}:00Z&until={DAY}:59Z&limit={limit}");
    for limit in 1..=5 {
        let first = Client::operator(&one).get(&path(limit)).await;
        let cursor = first.body["nextCursor"].as_str().expect("a next page");
        let rest = Client::operator(&five).get(&format!("{}&cursor={cursor}", path(100))).await;
        let items = [first.body["items"].clone(), rest.body["items"].clone()];
        let listed = items.iter().flat_map(|items| told(items.as_array().expect("items")));
        let mut listed: Vec<_> = listed.map(|(_, id)| id).collect();
        listed.sort();
        assert_eq!(listed, (0..12).map(|number| format!("T-{number:02}")).collect::<Vec<_>>(), "{limit}");
    }
}

/// Sort keys between the valid ones, which no type can parse. DynamoDB allows 1,024 bytes.
fn invalid_sorts(prefix: &str) -> Vec<String> {
    let longest = |rest: &str| format!("{prefix}{}", rest.repeat((1024 - prefix.len()) / rest.len()));
    let texts = ["", "-nonsense", "#", "\u{1}", "\u{7f}\u{10ffff}", "\u{202e}x"];
    texts.iter().map(|text| format!("{prefix}{text}")).chain([longest("x"), longest("\u{1f4b6}")]).collect()
}

/// Items with invalid sort keys, or with the primary key of another type, before, between and after
/// the valid items of each list. At every page size, each valid item is listed once, and the list
/// ends.
#[tokio::test]
async fn an_invalid_sort_key_at_the_end_of_a_page_does_not_stop_the_list() {
    for shards in [1, 3] {
        let books = Books::of(status_shards(shards, shards).start().await.expect("a stack")).await;
        let account = books.funded("ann", "9.00").await;
        let other = books.account("ann").await;
        for number in 0..4 {
            assert_eq!(books.pay(&format!("P-{number}"), &account, &other, "1.00").await.status, 201);
        }
        let client = books.stack.client().expect("a client");
        let (mut header, mut leg, mut owned) = (None, None, None);
        for item in books.stored().await {
            match text(&item, "Type").as_str() {
                "Transaction" => header = Some(item),
                "TransactionLeg" if text(&item, "AccountID") == account => leg = Some(item),
                "Account" if text(&item, "ID") == account => owned = Some(item),
                _ => {}
            }
        }
        let (header, leg, owned) = (header.expect("a header"), leg.expect("a leg"), owned.expect("an account"));
        let lists = [
            format!("{TRANSACTIONS}?since=2020-01-01T00:00:00Z"),
            format!("{TRANSACTIONS}?idempotencyKey=P-1"),
            format!("/ledger/accounts/{account}/statement?"),
            "/ledger/users/ann/accounts?".to_owned(),
        ];
        let mut healthy = Vec::new();
        for list in &lists {
            healthy.push(books.operator.all(list.trim_end_matches('?')).await.0);
        }
        let counts: Vec<usize> = healthy.iter().map(Vec::len).collect();
        assert_eq!(counts, [5, 1, 5, 2]);
        // An item of another type, and an item whose own keys are invalid.
        let owns = |number: usize| {
            let keys = [("TXN#880h", "METADATA"), ("TXN#880h", "LEG#"), ("nonsense", "#"), ("TXN#\u{1}", "REVERSAL")];
            let (partition, sort) = keys[number % keys.len()];
            [("PK", format!("{partition}{number}")), ("SK", sort.to_owned())]
        };
        let mut broken = Vec::new();
        for (item, partition, key, prefixes) in [
            (&header, "GSI1PK", "GSI1SK", vec!["CREATED#2020-01-01T00:00:00.000Z", "CREATED#2026", "CREATED#9"]),
            (&leg, "GSI1PK", "GSI1SK", vec!["LEG#1", "LEG#2026", "LEG#9"]),
            (&owned, "GSI1PK", "GSI1SK", vec!["ACCOUNT#", "ACCOUNT#8", "ACCOUNT#z"]),
            (&header, "GSI2PK", "GSI2SK", vec!["TXN"]),
        ] {
            let sorts = prefixes
                .into_iter()
                .flat_map(|prefix| if key == "GSI2SK" { vec!["TXN".to_owned(); 8] } else { invalid_sorts(prefix) });
            for sort in sorts {
                let mut item = item.clone();
                item.retain(|name, _| !name.starts_with("GSI") || name == partition);
                let index = match text(&item, "Type").as_str() {
                    "Transaction" if key == "GSI2SK" => "IDEMPOTENCY#P-1".to_owned(),
                    "Transaction" if shards == 3 => format!("STATUS#completed#{}", 1 + broken.len() % 2),
                    "Transaction" => "STATUS#completed".to_owned(),
                    _ => text(&item, partition),
                };
                let invalid = ("CreatedAt", "nonsense".to_owned());
                let keys = [(partition, index), (key, sort), invalid].into_iter().chain(owns(broken.len()));
                item.extend(keys.map(|(name, value)| (name.to_owned(), AttributeValue::S(value))));
                broken.push(item);
            }
        }
        for item in &broken {
            client.put_item().table_name(books.table()).set_item(Some(item.clone())).send().await.expect("put");
        }
        for limit in [1, 2, 3, 5, 7, 100] {
            for (list, healthy) in lists.iter().zip(&healthy) {
                let path = format!("{list}&limit={limit}").replace("?&", "?");
                let (items, pages) = books.operator.all(&path).await;
                assert_eq!(&items, healthy, "{path}, {pages} pages, {shards} shards");
            }
        }
        books.stack.stop().await;
    }
}
