//! Measures how fast the workers of a dispatch read a day. The reference reads one shard after
//! another. Each call takes 5 ms longer, and recorded responses replace the engine.

use crate::{
    days::Days,
    delay::Delayed,
    processor::{Times, alone, connected},
    slow::Way,
};
use bank::{Execution, Payment};
use function::Service;
use futures::future::join_all;
use keys::{
    AccountId, KeyRange, TimestampSeconds,
    bank::{DueSort, PaymentSort, Status},
};
use local::Stack;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use system_tests::{
    bank::{handed_over, scheduled_at},
    faults::within,
};
use table::{Dynamo, Index, Item, Query, Table};

const SHARDS: usize = 5;
const DELAY: Duration = Duration::from_millis(5);
/// Entries of a page (crates/bank/src/dispatch.rs).
const PAGE: usize = 100;
const PATIENCE: Duration = Duration::from_hours(1);
const DAY: &str = "2098-12-01";
const NOW: &str = "2098-12-01T23:59:59Z";
const FUNCTION: &str = "dispatch-due-payments";
/// The dispatch hands payments to this service, but nothing calls it.
const NOBODY: &str = "http://127.0.0.1:9";

/// Measures the readers with `payments` payments, `rounds` times: those of index entries, and those
/// of payments if `all` is true.
pub(crate) async fn measure(payments: usize, rounds: usize, all: bool) -> Value {
    let spread = Place::start(payments, SHARDS).await;
    let mut readers = vec![Reader::entries(&spread, true), Reader::entries(&spread, false)];
    let mut places = vec![spread];
    if all {
        places.push(Place::start(payments, 1).await);
        readers.extend(places.iter().map(Reader::payments));
    }
    let told = alone(move || async move {
        for round in 0..=rounds {
            for number in 0..readers.len() {
                let at = (number + round) % readers.len();
                readers[at].read(payments).await;
            }
        }
        readers.iter().map(Reader::told).collect::<Value>()
    })
    .await;
    for place in places {
        place.stack.stop().await;
    }
    json!({
        "payments": payments, "page": PAGE, "shards": SHARDS, "delay": DELAY.as_millis(), "rounds": rounds,
        "readers": told,
    })
}

/// A stack with `PENDING` payments, whose next attempt is due later. A dispatch reads all of them
/// and changes none.
struct Place {
    stack: Stack,
    shards: usize,
    recorded: Delayed,
    _folder: Days,
}

impl Place {
    async fn start(payments: usize, shards: usize) -> Self {
        let folder = Days::new(&format!("sweeps-{shards}"));
        let stack = folder.stack(handed_over(NOBODY)).await;
        folder.fill_with(&stack, DAY, payments, shards, |payment| Payment {
            due: DueSort { status: Status::Pending, ..payment.due },
            execution: Some(Execution::Waiting),
            next_attempt_at: Some(time("2098-12-31T00:00:00Z")),
            ..payment
        });
        let recorded = Delayed::keeping(stack.dynamo_url()).await;
        Self { stack, shards, recorded, _folder: folder }
    }

    fn client(&self) -> (Dynamo, Arc<Way>) {
        let lambda = self.stack.template().lambdas.iter().find(|lambda| lambda.name == FUNCTION).expect("a function");
        let client = connected(&self.stack.client_of(lambda), self.recorded.url());
        let (client, way) = Way::client(&client, DELAY);
        (Dynamo::new(&client, system_tests::random()), way)
    }
}

fn time(text: &str) -> TimestampSeconds {
    text.parse().expect("a time")
}

enum By {
    /// Only the entries of the index, which are all that a dispatch needs for its claims.
    Entries { table: Table, is_concurrent: bool },
    /// The entries and the payments, by the function itself.
    Payments(Service),
}

struct Reader {
    by: By,
    shards: usize,
    way: Arc<Way>,
    calls: u64,
    times: Times,
}

impl Reader {
    fn entries(place: &Place, is_concurrent: bool) -> Self {
        let (dynamo, way) = place.client();
        let table = dynamo.table(place.stack.table("PaymentScheduler").expect("a table"));
        Self::new(By::Entries { table, is_concurrent }, place, way)
    }

    fn payments(place: &Place) -> Self {
        let (dynamo, way) = place.client();
        let lambda = place.stack.template().lambdas.iter().find(|lambda| lambda.name == FUNCTION).expect("a function");
        let number = |setting: &str| (setting.to_owned(), place.shards.to_string());
        let settings = lambda.environment.clone().into_iter().chain(["WRITE_SHARDS", "READ_SHARDS"].map(number));
        let function = (bank::patterns::dispatch_due_payments::PATTERN.function)();
        let service = function.bind(&settings.collect(), dynamo).expect("valid settings");
        Self::new(By::Payments(service), place, way)
    }

    fn new(by: By, place: &Place, way: Arc<Way>) -> Self {
        Self { by, shards: place.shards, way, calls: 0, times: Times::default() }
    }

    async fn read(&mut self, payments: usize) {
        self.way.calls();
        match &self.by {
            By::Entries { table, is_concurrent: true } => {
                let read = self.times.take(join_all((0..self.shards).map(|shard| read_shard(table, shard)))).await;
                assert_eq!(read.into_iter().sum::<usize>(), payments);
            }
            By::Entries { table, .. } => {
                let one_after_another = async {
                    let mut read = 0;
                    for shard in 0..self.shards {
                        read += read_shard(table, shard).await;
                    }
                    read
                };
                assert_eq!(self.times.take(one_after_another).await, payments);
            }
            By::Payments(service) => {
                let invocation = self.times.take(service.call(scheduled_at(NOW), within(PATIENCE))).await;
                let answer = invocation.answer.expect("an answer");
                assert_eq!(answer, json!({"claimed": 0, "retried": 0, "left": false}));
                assert!(invocation.usage.scanned >= u64::try_from(payments).expect("a number"));
            }
        }
        self.calls = self.way.calls();
    }

    fn told(&self) -> Value {
        let (by, is_concurrent) = match &self.by {
            By::Entries { is_concurrent, .. } => ("entries", *is_concurrent),
            By::Payments(_) => ("payments", self.shards > 1),
        };
        json!({"by": by, "concurrent": is_concurrent, "calls": self.calls, "times": self.times.told()})
    }
}

/// The entry of a payment in the index.
#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: PaymentSort,
    #[serde(rename = "GSI1SK")]
    due: DueSort,
}

impl Item for Entry {
    const TYPE: &'static str = "Payment";
}

/// Reads the pages of a shard as a worker of the dispatch does.
async fn read_shard(table: &Table, shard: usize) -> usize {
    let index = Index { name: "GSI1".into(), partition: Payment::SHARD, sort: Payment::DUE };
    let all: KeyRange = DueSort::due_by(time(NOW), Status::Pending);
    let (mut rest, mut read) = (all.clone(), 0);
    loop {
        let page = table.page::<Entry>(&Query::new(&shard, &rest).on(&index), PAGE).await.expect("a page");
        read += page.items.len();
        let Some(position) = page.next else { return read };
        rest = all.after(&position);
    }
}
