//! `POST` requests to the bank that are repeated after a change of the status, after the payment
//! was archived, or with a day that is past (docs/decisions/idempotency.md).

use local::Stack;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Asks, Client,
    bank::{payments, rows, stack, transactions},
    faults::{Fault, Moment, Process, Twins},
};

const TIME: &str = "2099-12-01T09:30:00Z";
const TODAY: &str = "2099-11-30T12:00:00Z";
const MINUTE: Duration = Duration::from_mins(1);

/// Response of a function: status, location, and the exact text of the body.
type Answer = (u64, String, String);

/// API Gateway event of a `POST` request at the time `now`.
fn event(account: &str, key: Option<&str>, body: &Value, now: &str) -> Value {
    let path = format!("/bank/accounts/{account}/payments");
    let (route, parameters) = ("POST /bank/accounts/{accountId}/payments", json!({"accountId": account}));
    Asks { route, path: &path, parameters, key, body: Some(body) }.at(now.parse().expect("a time"))
}

fn read(answer: &Value) -> Answer {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (answer["statusCode"].as_u64().expect("a status"), text(&answer["headers"]["location"]), text(&answer["body"]))
}

async fn invoke(stack: &Stack, event: &Value) -> Answer {
    read(&Client::operator(stack).invoke("schedule-payment", event).await.body)
}

fn new() -> Value {
    json!({"scheduledTime": TIME, "data": {"amount": 12.50}})
}

/// Number of payments, idempotency records and transactions.
async fn counts(stack: &Stack) -> (usize, usize, usize) {
    let records = rows(stack, "PaymentScheduler", "IdempotencyRecord").await.len();
    (payments(stack).await.len(), records, transactions(stack).await.len())
}

async fn crash(twins: &Twins, process: &Process<'_>, event: &Value, call: usize, moment: Moment) -> Option<Answer> {
    twins.proxy.rule(move |made| if made.number == call { Fault::Death(moment) } else { Fault::None });
    let invocation = process.run(event, MINUTE).await?;
    Some(read(&invocation.answer.expect("an answer")))
}

/// Changes the payment's status and checks the result.
async fn advance(stack: &Stack, location: &str, body: Value) {
    let moved = Client::operator(stack).patch(location, &body).await;
    assert_eq!(moved.status, 200, "{}", moved.body);
}

async fn archive(stack: &Stack) {
    let archived = Client::operator(stack).invoke("archive-settled-payments", &json!({"date": "2099-12-31"})).await;
    assert_eq!(archived.body, json!({"until": "2099-12-31", "moved": 1, "left": false}));
}

#[tokio::test]
async fn repeated_request_gets_the_first_response_in_every_status() {
    let stack = stack().start().await.expect("a stack");
    let event = event("A-1", Some("K"), &new(), TODAY);
    let first = invoke(&stack, &event).await;
    for body in [json!({"status": "PENDING"}), json!({"status": "PROCESSED", "transactionId": "T-1"})] {
        advance(&stack, &first.1, body).await;
        let before = payments(&stack).await;
        assert_eq!(invoke(&stack, &event).await, first);
        assert_eq!(payments(&stack).await, before);
    }
    archive(&stack).await;
    assert_eq!(invoke(&stack, &event).await, first);
    assert_eq!(counts(&stack).await, (0, 1, 1), "the repeated request restored the payment");
}

#[tokio::test]
async fn delayed_retry_does_not_restore_an_archived_payment() {
    let twins = Twins::start(stack).await;
    let process = twins.process("schedule-payment", &bank::patterns::schedule_payment::function());
    let event = event("A-1", Some("K"), &new(), TODAY);
    assert_eq!(crash(&twins, &process, &event, 1, Moment::After).await, None);
    twins.proxy.rule(|call| if call.action == "TransactWriteItems" { Fault::Held } else { Fault::None });
    let overtaken = async {
        twins.proxy.held(1).await;
        let first = invoke(&twins.healthy, &event).await;
        advance(&twins.healthy, &first.1, json!({"status": "PENDING"})).await;
        advance(&twins.healthy, &first.1, json!({"status": "PROCESSED", "transactionId": "T-1"})).await;
        archive(&twins.healthy).await;
        twins.proxy.release();
        first
    };
    let (late, first) = futures::join!(invoke(&twins.faulty, &event), overtaken);
    assert_eq!(late, first);
    assert_eq!(counts(&twins.healthy).await, (0, 1, 1), "the delayed retry restored the payment");
}

#[tokio::test]
async fn rejected_request_for_a_past_day_does_not_consume_its_key() {
    let stack = stack().start().await.expect("a stack");
    let (status, _, body) = invoke(&stack, &event("A-1", Some("K"), &new(), "2099-12-02T00:00:00Z")).await;
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("/body/scheduledTime"), "{body}");
    assert_eq!(counts(&stack).await, (0, 0, 0));
    let of_today = json!({"scheduledTime": "2099-12-02T00:00:00Z", "data": null});
    assert_eq!(invoke(&stack, &event("A-1", Some("K"), &of_today, "2099-12-02T00:00:00Z")).await.0, 201);
}
