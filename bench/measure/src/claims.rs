//! Compares the claims of a dispatch with the same conditional updates, made by the SDK alone.

use crate::{
    calls::count,
    days::{attributes, of_8_kb},
    processor::{Times, alone, connected, service, units},
};
use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure},
};
use bank::Payment;
use futures::{StreamExt, stream};
use local::Stack;
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};
use system_tests::{
    bank::{handed_over, put, scheduled_at, second_of},
    faults::within,
};

/// Payments of a round.
const PAYMENTS: usize = 1_000;
const SHARDS: usize = 5;
/// Number of concurrent claims: 16 in each shard (crates/bank/src/dispatch.rs).
const AT_ONCE: usize = 16 * SHARDS;
const PATIENCE: Duration = Duration::from_mins(2);
/// The dispatch hands payments to this service, but nothing calls it.
const NOBODY: &str = "http://127.0.0.1:9";

/// Measures both ways in `rounds` rounds.
pub(crate) async fn measure(rounds: usize) -> Value {
    let stack = handed_over(NOBODY).start().await.expect("a stack");
    let (stack, result) = alone(move || async move {
        let result = compare(&stack, rounds).await;
        (stack, result)
    })
    .await;
    stack.stop().await;
    result
}

async fn compare(stack: &Stack, rounds: usize) -> Value {
    let ours = service(stack, "dispatch-due-payments", &(bank::patterns::dispatch_due_payments::PATTERN.function)());
    let bare = connected(&stack.client().expect("a client"), stack.dynamo_url());
    let table = stack.table("PaymentScheduler").expect("a table");
    let (mut ours_times, mut bare_times, mut used) = (Times::default(), Times::default(), Value::Null);
    for round in 0..=rounds {
        // Later rounds have earlier days. A dispatch reads only payments up to its own time, so it
        // does not meet the payments that earlier rounds have claimed.
        let day = format!("2097-01-{:02}", rounds + 1 - round);
        put(stack, &payments(&day)).await;
        let others = payments("2099-01-01");
        put(stack, &others).await;
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                let event = scheduled_at(&format!("{day}T23:59:59Z"));
                let invocation = ours_times.take(ours.call(event, within(PATIENCE))).await;
                let answer = invocation.answer.expect("an answer");
                assert_eq!(answer, json!({"claimed": PAYMENTS, "retried": 0, "left": false}));
                used = units(&invocation.usage);
            } else {
                bare_times.take(claim_all(&bare, table, &others)).await;
            }
        }
    }
    json!({
        "payments": PAYMENTS, "bytes": table::size(&payments("2097-01-01")[0]).expect("an item"), "shards": SHARDS,
        "at_once": AT_ONCE, "units": used, "ours": ours_times.told(), "bare": bare_times.told(),
    })
}

fn payments(day: &str) -> Vec<Payment> {
    let one =
        |number: usize| of_8_kb(number, second_of(day, i64::try_from(number).expect("a second")), number % SHARDS);
    (0..PAYMENTS).map(one).collect()
}

async fn claim_all(client: &Client, table: &str, payments: &[Payment]) {
    let claims = payments.iter().map(|payment| claim(client, table, payment));
    let claimed = stream::iter(claims).buffer_unordered(AT_ONCE).count().await;
    assert_eq!(count(claimed), count(PAYMENTS));
}

/// The update of a claim.
async fn claim(client: &Client, table: &str, payment: &Payment) {
    let item: HashMap<String, String> =
        attributes(payment).filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect();
    let text = |name: &str| AttributeValue::S(item[name].clone());
    let pending = item["GSI1SK"].replacen("SCHEDULED", "PENDING", 1);
    let now = || AttributeValue::S("2099-01-01T23:59:59Z".to_owned());
    let request = client.update_item().table_name(table).key("PK", text("PK")).key("SK", text("SK"));
    let request = request
        .update_expression(
            "SET GSI1SK = :pending, DispatchedAt = :now, MovedBy = :run, Execution = :due, NextAttemptAt = :next",
        )
        .condition_expression("attribute_exists(PK) AND GSI1SK = :scheduled")
        .expression_attribute_values(":pending", AttributeValue::S(pending))
        .expression_attribute_values(":scheduled", text("GSI1SK"))
        .expression_attribute_values(":now", now())
        .expression_attribute_values(":next", now())
        .expression_attribute_values(":due", AttributeValue::S("due".to_owned()))
        .expression_attribute_values(":run", AttributeValue::S("0197a3c05e6f7a8b9c0d1e2f3a4b5c6d".to_owned()));
    let request = request
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    request.send().await.expect("claimed");
}
