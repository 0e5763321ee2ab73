//! `POST` requests to the bank that are repeated after a change of the status, after the payment
//! was archived, or with a day that is past (docs/decisions/idempotency.md).

use jiff::Timestamp;
use local::Stack;
use serde_json::{Value, json};
use system_tests::{
    Answer, Client,
    bank::{archive, payments, rows, stack, transactions},
    clock::{At, time},
    faults::{Fault, Moment, Twins},
};

const TIME: &str = "2099-12-01T09:30:00Z";

/// Schedules a payment at the time `now`.
async fn post(stack: &Stack, scheduled: &str, now: Timestamp) -> Answer {
    let new = json!({"scheduledTime": scheduled, "data": {"amount": 12.50}});
    At::new(stack, &Client::operator(stack), now).post_once("/bank/accounts/A-1/payments", "K", &new).await
}

/// Number of payments, idempotency records and transactions.
async fn counts(stack: &Stack) -> [usize; 3] {
    let records = rows(stack, "PaymentScheduler", "IdempotencyRecord").await.len();
    [payments(stack).await.len(), records, transactions(stack).await.len()]
}

/// The first attempt crashes after its first write, and the second one is delayed until the payment
/// of the third is archived.
#[tokio::test]
async fn repeated_request_gets_the_first_response_in_every_status_and_restores_no_payment() {
    let twins = Twins::start(stack).await;
    let (now, client) = (time("2099-11-30T12:00:00Z"), Client::operator(&twins.healthy));
    twins.proxy.rule(|call| if call.number == 1 { Fault::Death(Moment::After) } else { Fault::None });
    assert_eq!(post(&twins.faulty, TIME, now).await.status, 503);
    assert_eq!(counts(&twins.healthy).await, [0, 1, 0]);
    twins.proxy.rule(|call| if call.action == "TransactWriteItems" { Fault::Held } else { Fault::None });
    let shown = |answer: Answer| (answer.status, answer.headers["location"].clone(), answer.body);
    let overtaken = async {
        twins.proxy.held(1).await;
        let first = shown(post(&twins.healthy, TIME, now).await);
        let path = first.1.to_str().expect("text");
        for body in [json!({"status": "PENDING"}), json!({"status": "PROCESSED", "transactionId": "T-1"})] {
            let moved: Value = client.patch(path, &body).await.body;
            assert_eq!(shown(post(&twins.healthy, TIME, now).await), first);
            assert_eq!(client.get(path).await.body, moved);
        }
        assert_eq!(archive(&client, "2099-12-31").await, 1);
        assert_eq!(shown(post(&twins.healthy, TIME, now).await), first);
        twins.proxy.release();
        first
    };
    let (late, first) = futures::join!(post(&twins.faulty, TIME, now), overtaken);
    let status = first.0;
    assert_eq!((shown(late), status), (first, 201));
    assert_eq!(counts(&twins.healthy).await, [0, 1, 1], "a repeated request restored the payment");
}

#[tokio::test]
async fn rejected_request_for_a_past_day_does_not_consume_its_key() {
    let stack = stack().start().await.expect("a stack");
    let today = time("2099-12-02T00:00:00Z");
    let refused = post(&stack, TIME, today).await;
    assert_eq!((refused.status, &refused.body["errors"][0]["pointer"]), (400, &json!("/body/scheduledTime")));
    assert_eq!(counts(&stack).await, [0; 3]);
    assert_eq!(post(&stack, "2099-12-02T00:00:00Z", today).await.status, 201);
}
