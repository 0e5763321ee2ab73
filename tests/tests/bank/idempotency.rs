//! Repeated `POST` requests to the bank: concurrent requests, and retries after crashes, after
//! status changes, and a day later (docs/decisions/idempotency.md).

use futures::future::join_all;
use local::Stack;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Asks, Client,
    bank::{payments, rows, transactions},
    faults::{Fault, MOMENTS, Moment, Process, Twins},
    stack,
    units::consumed,
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

fn payment_id((status, _, body): &Answer) -> String {
    assert_eq!(*status, 201, "{body}");
    let body: Value = serde_json::from_str(body).expect("JSON");
    body["paymentId"].as_str().expect("an id").to_owned()
}

/// Number of payments, idempotency records and transactions.
async fn counts(stack: &Stack) -> (usize, usize, usize) {
    let records = rows(stack, "PaymentScheduler", "IdempotencyRecord").await.len();
    (payments(stack).await.len(), records, transactions(stack).await.len())
}

#[tokio::test]
async fn twenty_concurrent_requests_schedule_one_payment() {
    let stack = stack().start().await.expect("a stack");
    let event = event("A-1", Some("K"), &new(), TODAY);
    let answers = join_all((0..20).map(|_| invoke(&stack, &event))).await;
    let later = invoke(&stack, &event).await;
    assert!(answers.iter().all(|answer| *answer == later), "{answers:#?}, later {later:?}");
    assert_eq!(counts(&stack).await, (1, 1, 0));
    assert!(payments(&stack).await[0]["SK"].ends_with(&payment_id(&later)));
}

#[tokio::test]
async fn idempotency_key_is_bound_to_its_request_and_account() {
    let stack = stack().start().await.expect("a stack");
    let first = invoke(&stack, &event("A-1", Some("K"), &new(), TODAY)).await;
    let same_instant = json!({"scheduledTime": "2099-12-01T10:30:00+01:00", "data": {"amount": 12.50}});
    assert_eq!(invoke(&stack, &event("A-1", Some("K"), &same_instant, TODAY)).await, first);
    for other in [
        json!({"scheduledTime": TIME, "data": {"amount": 12.51}}),
        json!({"scheduledTime": TIME, "data": null}),
        json!({"scheduledTime": "2099-12-01T09:30:01Z", "data": {"amount": 12.50}}),
        json!({"scheduledTime": "2098-12-01T09:30:00Z", "data": {"amount": 12.50}}),
    ] {
        let (status, _, body) = invoke(&stack, &event("A-1", Some("K"), &other, TODAY)).await;
        assert_eq!(status, 422, "{other}: {body}");
        assert!(body.contains("/problems/idempotency-key-reused"), "{body}");
    }
    assert_eq!(counts(&stack).await, (1, 1, 0), "a rejected request wrote an item");
    let of_another = invoke(&stack, &event("A-2", Some("K"), &new(), TODAY)).await;
    assert_ne!(payment_id(&of_another), payment_id(&first));
    assert_eq!(counts(&stack).await, (2, 2, 0));
}

#[tokio::test]
async fn idempotency_key_costs_one_write_unit() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let account = "a".repeat(128);
    let path = format!("/bank/accounts/{account}/payments");
    for (size, key) in [(10, "K-1".to_owned()), (7_000, "K-2".to_owned()), (7_000, "k".repeat(128))] {
        let new = json!({"scheduledTime": TIME, "data": "x".repeat(size)});
        let (plain, keyed) = (client.post(&path, &new).await, client.post_once(&path, &key, &new).await);
        let mut expected = consumed(&plain);
        expected.get_mut("PaymentScheduler").expect("a write").1 += table::Units::whole(1);
        assert_eq!(consumed(&keyed), expected, "{size} bytes");
    }
}

#[tokio::test]
async fn retry_completes_a_request_that_crashed_at_any_call() {
    let twins = Twins::start(stack).await;
    let process = twins.process("schedule-payment", &bank::patterns::schedule_payment::function());
    let mut crashes = 0;
    for moment in MOMENTS {
        for call in 1..=10 {
            let account = format!("A-{call}-{moment:?}");
            let event = event(&account, Some("K"), &new(), TODAY);
            let survived = crash(&twins, &process, &event, call, moment).await;
            heals(&twins, &account, &event).await;
            if survived.is_some() {
                break;
            }
            crashes += 1;
        }
    }
    assert_eq!(crashes, 4, "a first request makes two calls");
}

#[tokio::test]
async fn second_retry_completes_a_retry_that_crashed() {
    let twins = Twins::start(stack).await;
    let process = twins.process("schedule-payment", &bank::patterns::schedule_payment::function());
    let mut crashes = 0;
    for moment in MOMENTS {
        for call in 1..=10 {
            let account = format!("A-{call}-{moment:?}");
            let event = event(&account, Some("K"), &new(), TODAY);
            let died = crash(&twins, &process, &event, 1, Moment::After).await;
            assert_eq!(died, None, "only the record is written");
            let survived = crash(&twins, &process, &event, call, moment).await;
            heals(&twins, &account, &event).await;
            if survived.is_some() {
                break;
            }
            crashes += 1;
        }
    }
    assert_eq!(crashes, 8, "a retry makes a put, two reads and a transaction");
}

async fn crash(twins: &Twins, process: &Process<'_>, event: &Value, call: usize, moment: Moment) -> Option<Answer> {
    twins.proxy.rule(move |made| if made.number == call { Fault::Death(moment) } else { Fault::None });
    let invocation = process.run(event, MINUTE).await?;
    Some(read(&invocation.answer.expect("an answer")))
}

/// Checks that two retries get the same response, and that there is exactly one payment.
async fn heals(twins: &Twins, account: &str, event: &Value) {
    let healed = invoke(&twins.healthy, event).await;
    assert_eq!(invoke(&twins.healthy, event).await, healed);
    let stored: Vec<_> = payments(&twins.healthy).await.into_iter().filter(|row| row["PK"] == account).collect();
    let ids: Vec<_> = stored.iter().filter_map(|row| row["SK"].split('#').nth(1)).collect();
    assert_eq!(ids, [payment_id(&healed)], "{account}");
}

#[tokio::test]
async fn lost_response_does_not_schedule_a_second_payment() {
    for call in 1..=2 {
        let twins = Twins::start(stack).await;
        let lost = move |made: usize| if made == call { Fault::Lost(Moment::After) } else { Fault::None };
        twins.proxy.rule(move |made| lost(made.number));
        let event = event("A-1", Some("K"), &new(), TODAY);
        let answer = invoke(&twins.faulty, &event).await;
        assert_eq!(answer, invoke(&twins.healthy, &event).await, "call {call}");
        assert_eq!(twins.proxy.count("TransactWriteItems"), 0, "call {call}: a transaction would double the cost");
        assert_eq!(counts(&twins.healthy).await, (1, 1, 0));
        assert_eq!(payment_id(&answer), payment_id(&invoke(&twins.healthy, &event).await));
    }
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
async fn repeated_request_gets_the_first_response_after_the_scheduled_day() {
    let stack = stack().start().await.expect("a stack");
    let at = |now, key| event("A-1", key, &new(), now);
    let first = invoke(&stack, &at("2099-12-01T23:59:59.999Z", Some("K"))).await;
    for late in ["2099-12-02T00:00:00Z", "2100-06-01T00:00:00Z"] {
        assert_eq!(invoke(&stack, &at(late, Some("K"))).await, first);
        assert_eq!(invoke(&stack, &at(late, None)).await.0, 400);
        let other = json!({"scheduledTime": TIME, "data": "other"});
        assert_eq!(invoke(&stack, &event("A-1", Some("K"), &other, late)).await.0, 422);
    }
    assert_eq!(counts(&stack).await, (1, 1, 0));
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
