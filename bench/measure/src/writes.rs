//! Schedules payments of 8 KB through the gateway. Compares the rate with plain puts of the same
//! item, made by the same number of clients.

use crate::days::attributes;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use bank::Payment;
use futures::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use system_tests::{
    Client,
    bank::{scheduled_payment, second_of},
    stack,
};
use uuid::Uuid;

type Row = HashMap<String, AttributeValue>;

/// Length of the payment's data. With its keys, the payment consumes eight write request units, as
/// docs/requirements/bank.md#item-size requires.
const MEMO: usize = 7_000;
const CLIENTS: [usize; 3] = [8, 16, 32];
const TURNS: usize = 8;
const TURN: Duration = Duration::from_secs(3);
const WARM_UP: Duration = Duration::from_secs(1);

pub(crate) async fn measure() -> Value {
    let mut cases = Vec::new();
    for clients in CLIENTS {
        cases.push(case(clients).await);
    }
    let cores = std::thread::available_parallelism().expect("some").get();
    json!({"cores": cores, "bytes": table::size(&like(0)).expect("an item"), "turn": TURN.as_secs(), "cases": cases})
}

/// Measures both kinds of writes in alternating turns, with this number of clients, on one growing
/// table.
async fn case(clients: usize) -> Value {
    let stack = stack().start().await.expect("a stack");
    let (client, dynamo) = (Client::operator(&stack), stack.client().expect("a client"));
    let table = stack.table("PaymentScheduler").expect("a table");
    let rows: Vec<Row> = (0..clients).map(row).collect();
    let (mut path, mut bare) = (Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        let time = if turn == 0 { WARM_UP } else { TURN };
        let scheduled = rate(clients, time, |number| schedule(&client, number)).await;
        let put = rate(clients, time, |number| put(&dynamo, table, &rows[number])).await;
        if turn > 0 {
            path.push(scheduled);
            bare.push(put);
        }
    }
    stack.stop().await;
    json!({"clients": clients, "scheduled": path, "put": bare})
}

/// Returns the calls per second. Each client makes one call after the other.
async fn rate<F: Future<Output = ()>>(clients: usize, time: Duration, call: impl Fn(usize) -> F) -> f64 {
    let start = Instant::now();
    let calls = (0..clients).map(|number| {
        let call = &call;
        async move {
            let mut made = 0_u32;
            while start.elapsed() < time {
                call(number).await;
                made += 1;
            }
            made
        }
    });
    let made: u32 = join_all(calls).await.into_iter().sum();
    f64::from(made) / start.elapsed().as_secs_f64()
}

/// Details of a payment of 8 KB.
pub(crate) fn data() -> Value {
    json!({"memo": "x".repeat(MEMO)})
}

async fn schedule(client: &Client, number: usize) {
    let new = json!({"scheduledTime": "2099-12-01T09:30:00Z", "data": data()});
    let answer = client.post(&format!("/bank/accounts/Account{number}/payments"), &new).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
}

/// Puts the item in the same way as the function: only if no item has this key, and with a request
/// for the consumed capacity.
async fn put(dynamo: &aws_sdk_dynamodb::Client, table: &str, like: &Row) {
    let mut item = like.clone();
    item.insert("SK".to_owned(), AttributeValue::S(format!("2099-12-01T09:30:00Z#{}", Uuid::now_v7())));
    let put = dynamo.put_item().table_name(table).set_item(Some(item)).condition_expression("attribute_not_exists(PK)");
    put.return_consumed_capacity(ReturnConsumedCapacity::Indexes).send().await.expect("written");
}

fn row(number: usize) -> Row {
    let value = |value: Value| match value {
        Value::String(text) => AttributeValue::S(text),
        number => AttributeValue::N(number.to_string()),
    };
    attributes(&like(number)).map(|(name, found)| (name, value(found))).collect()
}

/// Creates a payment of 8 KB on the given shard, without storing it.
pub(crate) fn of_8_kb(account: usize, due: Timestamp, shard: usize) -> Payment {
    let data = serde_json::from_value(data().to_string().into()).expect("data");
    Payment { data, ..scheduled_payment(&format!("Account{account}"), due, shard) }
}

fn like(number: usize) -> Payment {
    of_8_kb(number, second_of("2099-12-01", 34_200), number % 5)
}
