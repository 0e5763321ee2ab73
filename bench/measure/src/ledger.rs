//! Compares ledger transfers with the DynamoDB calls that a transfer needs. Also measures many
//! concurrent writers on one account.

mod bare;

use crate::{
    calls::timed,
    delay::{AWAY, Delayed},
};
use bare::Bare;
use function::Service;
use futures::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    faults::{service, within},
    ledger::model::posting,
    ledger::{Books, payment},
};
use tokio::time::sleep;
use uuid::Uuid;

/// Number of concurrent customers. Each customer has separate accounts.
const CUSTOMERS: usize = 4;
/// Number of payments per customer and round.
const PAYMENTS: usize = 5;
const WARM_UP: usize = 2;
const ROUNDS: usize = 30;
const DEADLINE: Duration = Duration::from_secs(10);
const WRITERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Number of transfers into one account with direct posting in a run, over all writers.
const INTO_ONE: usize = 128;
/// Number of transfers of each writer in the other runs.
const EACH: usize = 32;
/// Number of runs with each number of writers.
const RUNS: usize = 5;
/// Pause between two looks at the inbox.
const LOOK: Duration = Duration::from_millis(20);
/// Maximum number of looks.
const LOOKS: usize = 10_000;

/// Measures transfers and a hot account with a distant DynamoDB.
pub(crate) async fn measure() -> Value {
    let books = Books::open().await;
    let away = Delayed::start(books.stack.dynamo_url(), AWAY).await;
    let transfers = side_by_side(&books, away.url()).await;
    books.stack.stop().await;
    let mut hot_runs = Vec::new();
    for writers in WRITERS {
        let (mut one, mut distinct, mut grouped) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..RUNS {
            one.push(hot(writers, Into::One).await);
            distinct.push(hot(writers, Into::Distinct).await);
            grouped.push(hot(writers, Into::Grouped).await);
        }
        hot_runs.push(json!({"writers": writers, "one": one, "distinct": distinct, "grouped": grouped}));
    }
    json!({
        "away_ms": AWAY.as_millis(), "customers": CUSTOMERS, "transfers": transfers,
        "into_one": INTO_ONE, "each": EACH, "hot": hot_runs,
    })
}

fn process_payment(books: &Books, dynamo: &str) -> Service {
    service(&books.stack, dynamo, "process-payment", &(ledger::patterns::process_payment::PATTERN.function)())
}

/// Makes transfers through the function `process-payment`.
struct Paying {
    service: Service,
}

impl Paying {
    /// Makes a transfer. Returns the status and the number of conflicts.
    async fn pay(&self, key: &str, from: &str, to: &str) -> (u64, u64) {
        let event = posting(key, &payment(from, to, "0.01"), Timestamp::now());
        let invocation = self.service.call(event, within(DEADLINE)).await;
        let answer = invocation.answer.expect("an answer");
        (answer["statusCode"].as_u64().expect("a status"), invocation.usage.conflicts)
    }

    /// Makes all payments of a customer in a round.
    async fn customer(&self, [from, to]: &[String; 2]) {
        for _ in 0..PAYMENTS {
            let (status, conflicts) = self.pay(&Uuid::now_v7().to_string(), from, to).await;
            assert_eq!((status, conflicts), (201, 0));
        }
    }
}

/// Measures transfers by the SDK alone and by our function. For both, returns the milliseconds per
/// transfer in each round.
async fn side_by_side(books: &Books, dynamo: &str) -> Value {
    let ours = Paying { service: process_payment(books, dynamo) };
    let mut customers = Vec::new();
    for _ in 0..CUSTOMERS {
        customers.push([books.funded("ann", "1000.00").await, books.account("bob").await]);
    }
    let mut bares = Vec::new();
    for _ in 0..CUSTOMERS {
        let accounts = [books.funded("ann", "1000.00").await, books.account("bob").await];
        assert_eq!(ours.pay(&Uuid::now_v7().to_string(), &accounts[0], &accounts[1]).await.0, 201);
        bares.push(Bare::of(books, dynamo, &accounts).await);
    }
    let mut times = [const { Vec::new() }; 2];
    for round in 0..WARM_UP + ROUNDS {
        for turn in 0..times.len() {
            let who = (round + turn) % times.len();
            let (_, millis) = match who {
                0 => timed(join_all(bares.iter_mut().map(|bare| bare.read_and_transact(PAYMENTS)))).await,
                _ => timed(join_all(customers.iter().map(|customer| ours.customer(customer)))).await,
            };
            if round >= WARM_UP {
                times[who].push(each(millis));
            }
        }
    }
    let [with_reads, ours] = times;
    json!({"with_reads": with_reads, "ours": ours})
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn each(round: f64) -> f64 {
    round / (CUSTOMERS * PAYMENTS) as f64
}

/// The accounts into which the writers pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Into {
    /// One account with direct posting.
    One,
    /// As many accounts with direct posting as writers.
    Distinct,
    /// One account with grouped posting.
    Grouped,
}

impl Into {
    async fn open(self, books: &Books, writers: usize) -> Vec<String> {
        let count = if self == Self::Distinct { writers } else { 1 };
        let mut accounts = Vec::with_capacity(count);
        for _ in 0..count {
            accounts.push(books.account("merchant").await);
        }
        if self == Self::Grouped {
            let grouped = json!({"posting": "grouped"});
            assert_eq!(books.operator.patch(&path(&accounts[0]), &grouped).await.status, 200);
        }
        accounts
    }
}

fn path(account: &str) -> String {
    format!("/ledger/accounts/{account}")
}

/// Measures `writers` concurrent writers on a new stack, because the local engine slows down with
/// the number of recent transactions. Each writer makes one payment after the other, and retries
/// rejected payments.
async fn hot(writers: usize, into: Into) -> Value {
    let books = Books::open().await;
    let away = Delayed::start(books.stack.dynamo_url(), AWAY).await;
    let ledger = Paying { service: process_payment(&books, away.url()) };
    let receiving = into.open(&books, writers).await;
    let of_each = if into == Into::One { INTO_ONE / writers } else { EACH };
    let writer = async |(number, from): (usize, String)| {
        let (mut conflicts, mut asked_to_retry) = (0, 0);
        for _ in 0..of_each {
            let (key, to) = (Uuid::now_v7().to_string(), &receiving[number % receiving.len()]);
            loop {
                let (status, between) = ledger.pay(&key, &from, to).await;
                conflicts += between;
                match status {
                    201 => break,
                    429 | 503 => asked_to_retry += 1,
                    other => panic!("{other}"),
                }
            }
        }
        (conflicts, asked_to_retry)
    };
    let mut payers = Vec::new();
    for _ in 0..writers {
        payers.push(books.funded("payer", "1000.00").await);
    }
    let (told, millis) = timed(join_all(payers.into_iter().enumerate().map(writer))).await;
    let (conflicts, again) = told.into_iter().fold((0, 0), |sums: (u64, u64), one| (sums.0 + one.0, sums.1 + one.1));
    let transfers = writers * of_each;
    let mut run = json!({"ms": millis, "transfers": transfers, "conflicts": conflicts, "asked_to_retry": again});
    if into == Into::Grouped {
        let waiting = pending(&books, &receiving[0]).await;
        let ((), drain) = timed(drained(&books, &receiving[0])).await;
        (run["pending"], run["drain_ms"]) = (json!(waiting), json!(drain));
    }
    books.stack.stop().await;
    run
}

/// Returns the number of credits in the inbox of the account. Each credit is 0.01.
async fn pending(books: &Books, account: &str) -> u64 {
    let answer = books.operator.get(&path(account)).await.body;
    let cents = answer["pending"].as_str().map(|pending| pending.replace('.', ""));
    cents.and_then(|cents| cents.parse().ok()).expect("an amount")
}

/// Waits until the inbox of the account is empty.
async fn drained(books: &Books, account: &str) {
    for _ in 0..LOOKS {
        if pending(books, account).await == 0 {
            return;
        }
        sleep(LOOK).await;
    }
    panic!("the inbox is not empty");
}
