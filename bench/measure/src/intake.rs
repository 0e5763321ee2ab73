//! Compares the import of a file with the same conditional puts, made by the SDK alone.

use crate::{
    days::data,
    processor::{Times, alone, connected, service, units},
};
use aws_sdk_dynamodb::{
    Client as Dynamo,
    types::{AttributeValue, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure},
};
use futures::{StreamExt, stream};
use local::Stack;
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};
use system_tests::{
    Client,
    bank::{upload, without_jobs},
    faults::within,
    text, until,
};
use uuid::Uuid;

type Item = HashMap<String, AttributeValue>;

/// Lines of a file.
const LINES: usize = 1_000;
/// Number of payments that are scheduled concurrently (crates/bank/src/jobs/import.rs).
const AT_ONCE: usize = 64;
/// Timeout of `continue-bank-job`.
const PATIENCE: Duration = Duration::from_mins(1);
const JOB: &str = "continue-bank-job";
const TIME: &str = "2099-12-01T09:30:00Z";

/// Measures both ways in `rounds` rounds.
pub(crate) async fn measure(rounds: usize) -> Value {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let mut runs = Vec::new();
    for round in 0..=rounds {
        let name = format!("round-{round}");
        upload(&stack, &format!("inbox/{name}.jsonl"), &[], file(round)).await;
        let import = until(&client, &format!("/bank/imports/{name}"), |answer| answer.status == 200).await.body;
        runs.push((name, text(&import, "run").to_owned()));
    }
    let (stack, result) = alone(move || async move {
        let result = compare(&stack, &runs).await;
        (stack, result)
    })
    .await;
    for round in 0..=rounds {
        let import = client.get(&format!("/bank/imports/round-{round}")).await.body;
        assert_eq!((text(&import, "status"), &import["scheduled"]), ("done", &json!(LINES)), "{import}");
    }
    stack.stop().await;
    result
}

fn file(round: usize) -> String {
    let line = |number: usize| {
        let account = format!("Account{}", number % 100);
        json!({"id": format!("{round}-{number}"), "accountId": account, "scheduledTime": TIME, "data": data()})
    };
    (0..LINES).fold(String::new(), |text, number| text + &line(number).to_string() + "\n")
}

async fn compare(stack: &Stack, runs: &[(String, String)]) -> Value {
    let ours = service(stack, JOB, &(bank::patterns::continue_bank_job::PATTERN.function)());
    let bare = connected(&stack.client().expect("a client"), stack.dynamo_url());
    let table = stack.table("PaymentScheduler").expect("a table");
    let (mut ours_times, mut bare_times, mut used) = (Times::default(), Times::default(), Value::Null);
    let mut like = None;
    for (round, (name, run)) in runs.iter().enumerate() {
        for turn in 0..2 {
            // The first round imports first, because the items of the SDK are copies.
            if (round + turn) % 2 == 0 {
                let keys = json!({"PK": {"S": format!("IMPORT#{name}")}, "SK": {"S": format!("RUN#{run}")}});
                let record = json!({"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": keys}});
                let invocation = ours_times.take(ours.call(json!({"Records": [record]}), within(PATIENCE))).await;
                assert_eq!(invocation.answer.expect("an answer"), json!({"batchItemFailures": []}));
                used = units(&invocation.usage);
            } else {
                let [record, payment] = like.as_ref().expect("the items of a line");
                bare_times.take(put_all(&bare, table, record, payment)).await;
            }
            if like.is_none() {
                like = Some(items_of_a_line(&bare, table).await);
            }
        }
    }
    let bytes = system_tests::units::bytes(&like.expect("the items of a line")[1]);
    json!({
        "payments": LINES, "line": file(0).len() / LINES, "bytes": bytes, "at_once": AT_ONCE, "units": used,
        "ours": ours_times.told(), "bare": bare_times.told(),
    })
}

/// The idempotency record and the payment of the first line.
async fn items_of_a_line(client: &Dynamo, table: &str) -> [Item; 2] {
    let of = |kind: &'static str| async move {
        let query =
            client.query().table_name(table).key_condition_expression("PK = :account AND begins_with(SK, :kind)");
        let query = query.expression_attribute_values(":account", AttributeValue::S("Account0".to_owned()));
        let query = query.expression_attribute_values(":kind", AttributeValue::S(kind.to_owned())).limit(1);
        query.send().await.expect("a page").items.and_then(|items| items.into_iter().next()).expect("an item")
    };
    [of("IDEMPOTENCY#").await, of("2099").await]
}

async fn put_all(client: &Dynamo, table: &str, record: &Item, payment: &Item) {
    let lines = (0..LINES).map(|_| async {
        let id = Uuid::now_v7().simple().to_string();
        put(client, table, record, [("SK", format!("IDEMPOTENCY#{id}"))]).await;
        let position = |start: &str| format!("{start}{TIME}#{id}");
        put(client, table, payment, [("SK", position("")), ("GSI1SK", position("SCHEDULED#"))]).await;
    });
    let written = stream::iter(lines).buffer_unordered(AT_ONCE).count().await;
    assert_eq!(written, LINES);
}

async fn put<const N: usize>(client: &Dynamo, table: &str, like: &Item, changed: [(&str, String); N]) {
    let mut item = like.clone();
    item.extend(changed.map(|(name, value)| (name.to_owned(), AttributeValue::S(value))));
    let request = client.put_item().table_name(table).set_item(Some(item));
    let request = request
        .condition_expression("attribute_not_exists(PK)")
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    request.send().await.expect("written");
}
