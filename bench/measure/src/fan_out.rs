//! Measures reads of a whole day, with concurrent and with sequential calls. The connection delays
//! each call.

use crate::{
    calls::{count, timed},
    days::Days,
    delay::Delayed,
    slow::Way,
};
use aws_sdk_dynamodb::Client;
use bank::Payment;
use function::Service;
use futures::{StreamExt, stream};
use jiff::Timestamp;
use keys::{
    KeyRange, Random,
    bank::{DueSort, Status},
};
use local::Stack;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use system_tests::{Asks, faults::within, stack};
use table::{Dynamo, Index, MergedQuery, Projection, Table};

const PAYMENTS: usize = 1_000;
const PAGE: usize = 100;
const ROUNDS: usize = 7;
/// Number of shards, and the delay per call in milliseconds.
const CASES: [(usize, u64); 7] = [(1, 5), (2, 5), (5, 0), (5, 5), (5, 20), (10, 5), (20, 5)];
const FUNCTION: &str = "list-due-payments";
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) async fn measure() -> Value {
    let filled = Days::new("fan-out");
    let stack = filled.stack(stack()).await;
    let (engine, mut cases) = (Delayed::keeping(stack.dynamo_url()).await, Vec::new());
    for (number, (shards, delay)) in CASES.into_iter().enumerate() {
        let date = format!("2099-12-{:02}", number + 1);
        filled.fill(&stack, &date, PAYMENTS, shards);
        let engine = engine.url();
        cases.push(read(Case { stack: &stack, engine, date, shards, delay }).await);
    }
    stack.stop().await;
    json!({"payments": PAYMENTS, "page": PAGE, "rounds": ROUNDS, "cases": cases})
}

/// A case to measure: a day with payments on `shards` shards, and the delay of each call in
/// milliseconds.
struct Case<'a> {
    stack: &'a Stack,
    engine: &'a str,
    date: String,
    shards: usize,
    delay: u64,
}

async fn read(case: Case<'_>) -> Value {
    let mut readers: Vec<Reader> = Vec::new();
    for by in [By::Shard, By::Page] {
        for at_once in [case.shards, 1] {
            readers.push(Reader::new(&case, by, at_once));
        }
    }
    for round in 0..=ROUNDS {
        for number in 0..readers.len() {
            let at = (number + round) % readers.len();
            readers[at].read().await;
        }
    }
    json!({"shards": case.shards, "delay": case.delay, "readers": readers.iter().map(Reader::told).collect::<Vec<_>>()})
}

/// The order of a reader: shard by shard, or page by page over all shards.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    Shard,
    Page,
}

/// Reads the day, and collects the measurements. `at_once` is the maximum number of concurrent
/// calls.
struct Reader {
    by: By,
    at_once: usize,
    date: String,
    shards: usize,
    table: Table,
    service: Service,
    way: Arc<Way>,
    calls: u64,
    waits: u64,
    millis: Vec<f64>,
}

impl Reader {
    fn new(case: &Case<'_>, by: By, at_once: usize) -> Self {
        let Case { stack, engine, ref date, shards, delay } = *case;
        let lambda = stack.template().lambdas.iter().find(|lambda| lambda.name == FUNCTION).expect("a function");
        let client = stack.client_of(lambda).config().to_builder().endpoint_url(engine).build();
        let (client, way) = Way::client(&Client::from_conf(client), Duration::from_millis(delay), at_once);
        let dynamo = Dynamo::new(&client, Random::seeded(1));
        let table = dynamo.table(stack.table("PaymentScheduler").expect("a table"));
        let mut settings: BTreeMap<String, String> = lambda.environment.clone().into_iter().collect();
        for setting in ["WRITE_SHARDS", "READ_SHARDS"] {
            settings.insert(setting.to_owned(), shards.to_string());
        }
        let service =
            (bank::patterns::list_due_payments::PATTERN.function)().bind(&settings.into_iter().collect(), dynamo);
        let service = service.expect("valid settings");
        Self { by, at_once, date: date.to_owned(), shards, table, service, way, calls: 0, waits: 0, millis: Vec::new() }
    }

    async fn read(&mut self) {
        self.way.counts();
        let (read, millis) = match self.by {
            By::Shard => timed(self.shards()).await,
            By::Page => timed(self.pages()).await,
        };
        assert_eq!(read, PAYMENTS, "{} of {} shards", self.date, self.shards);
        (self.calls, self.waits) = self.way.counts();
        self.millis.push(millis);
    }

    /// Returns the measurements without the first round, which opens the connections.
    fn told(&self) -> Value {
        json!({
            "by": if self.by == By::Shard { "shard" } else { "page" },
            "calls": self.calls,
            "waits": self.waits(),
            "millis": self.millis[1..],
        })
    }

    /// Returns the number of calls that must run one after another.
    fn waits(&self) -> u64 {
        match self.by {
            // The shards have equal sizes and are read concurrently, so only the calls of one shard
            // run one after another.
            By::Shard if self.at_once > 1 => self.calls / count(self.shards),
            _ => self.waits,
        }
    }

    /// Reads each shard to its end, with one worker per shard.
    async fn shards(&self) -> usize {
        let range = DueSort::due_on(self.date.parse().expect("a day"), Status::Scheduled);
        let worker = &|shard| tokio::spawn(read_shard(self.table.clone(), shard, range.clone()));
        stream::iter(0..self.shards)
            .map(|shard| async move { worker(shard).await.expect("the worker does not panic").expect("the shard is read") })
            .buffer_unordered(self.at_once)
            .fold(0, |all, read| async move { all + read })
            .await
    }

    /// Reads page after page over all shards in order, through the function.
    async fn pages(&self) -> usize {
        let (mut read, mut cursor) = (0, String::new());
        loop {
            let path = format!("/bank/payments/due?date={}&limit={PAGE}{cursor}", self.date);
            let asks =
                Asks { route: "GET /bank/payments/due", path: &path, parameters: json!({}), key: None, body: None };
            let answer =
                self.service.call(asks.at(Timestamp::now()), within(PATIENCE)).await.answer.expect("an answer");
            let page: Value = serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON");
            read += page["items"].as_array().expect("items").len();
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return read,
            }
        }
    }
}

async fn read_shard(table: Table, shard: usize, range: KeyRange) -> Result<usize, table::Error> {
    let index = Index { name: "GSI1".into(), partition: Payment::SHARD, sort: Payment::DUE };
    let (mut read, mut behind) = (0, None);
    loop {
        let partitions = vec![shard.to_string()];
        let list = MergedQuery { index: &index, projection: Projection::KeysOnly, partitions, range: &range, behind };
        let (page, _) = table.merged_page::<Payment>(list, PAGE, |_| true).await?;
        read += page.items.len();
        if page.next.is_none() {
            return Ok(read);
        }
        behind = page.next;
    }
}
