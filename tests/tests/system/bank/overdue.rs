//! Tests of the list of overdue payments (B16) and of retries of failed payments (B17).

use bank::Payment;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use keys::{TimestampSeconds, bank::Status};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Client, assert_problem,
    bank::{archive, bring_to, path, payment, payments, put, rows, schedule, stack, stack_with},
    on_both_projections, text, texts, unreadable,
};

const TIME: &str = "2099-12-01T09:30:00Z";
/// Minutes of a day.
const DAY: i64 = 24 * 60;
const OVERDUE: &str = "/bank/payments/overdue";

/// A payment that is due, and if it is `PENDING` was dispatched, the given number of minutes ago.
fn minutes_ago(status: Status, minutes: i64, number: usize) -> Payment {
    let then = Timestamp::now() - SignedDuration::from_mins(minutes);
    let then = TimestampSeconds::containing(then).expect("a second");
    let mut payment = payment(&format!("A-{}", number % 3), &then.to_string(), status, number % 5);
    payment.dispatched_at = (status == Status::Pending).then_some(then);
    payment
}

async fn lists_what_is_pending_too_long_and_what_is_scheduled_for_a_past_day(projection: &str) {
    let (stack, client) = stack_with(projection).await;
    let (mut overdue, mut others) = (Vec::new(), Vec::new());
    for number in 0..10 {
        let minutes = i64::try_from(number).expect("a number");
        overdue.push(minutes_ago(Status::Pending, 32 + 7 * minutes, number));
        overdue.push(minutes_ago(Status::Scheduled, (2 + minutes) * DAY, number));
        others.push(minutes_ago(Status::Pending, 2 * minutes, number));
        others.push(payment("A-1", TIME, Status::Scheduled, number % 5));
        others.extend(Status::SETTLED.map(|status| minutes_ago(status, 2 * DAY, number)));
    }
    // Its time is in the future, but it was dispatched long ago.
    let mut early = payment("A-1", TIME, Status::Pending, 0);
    early.dispatched_at = overdue[0].dispatched_at;
    overdue.push(early);
    put(&stack, &[&overdue[..], &others].concat()).await;
    overdue.sort_by_key(|payment| payment.due.to_string());
    let ids: Vec<String> = overdue.iter().map(|payment| payment.id().to_string()).collect();
    for limit in [1, 10, 21, 100] {
        let (items, _) = client.all(&format!("{OVERDUE}?limit={limit}")).await;
        assert_eq!(texts(&items, "paymentId"), ids, "limit {limit}");
        for item in &items {
            let reason = if item["status"] == "PENDING" { "pending-too-long" } else { "day-is-over" };
            assert_eq!(item["overdue"], reason, "{item}");
        }
    }
    stack.stop().await;
}

on_both_projections! { lists_what_is_pending_too_long_and_what_is_scheduled_for_a_past_day }

#[tokio::test]
async fn parameter_sets_the_minutes_after_which_a_pending_payment_is_overdue() {
    let stack = stack().parameter("OverdueMinutes", "5").start().await.expect("a stack");
    put(&stack, &[minutes_ago(Status::Pending, 4, 0), minutes_ago(Status::Pending, 6, 1)]).await;
    assert_eq!(Client::operator(&stack).all(OVERDUE).await.0.len(), 1);
    stack.stop().await;
}

/// A payment that `client` scheduled and that failed.
async fn failed_of(client: &Client, operator: &Client) -> Value {
    let payment = schedule(client, "A-1", TIME).await;
    bring_to(operator, &payment, "FAILED", "").await
}

async fn retry(client: &Client, payment: &Value) -> Value {
    let answer = client.post(&format!("{}/retry", path(payment)), &json!({})).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(answer.headers["location"], path(&answer.body));
    answer.body
}

#[tokio::test]
async fn retry_is_a_new_payment_that_names_the_failed_one() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let customer = Client::caller(&stack, "bank:read bank:write", &["A-1"]);
    for (client, by_operator) in [(&customer, false), (&operator, true)] {
        let before = failed_of(client, &operator).await;
        let new = retry(&operator, &before).await;
        assert_eq!((&new["data"], &new["accountId"]), (&before["data"], &before["accountId"]));
        assert_eq!((&new["retryOf"], &new["status"]), (&before["paymentId"], &json!("SCHEDULED")));
        assert_ne!(new["paymentId"], before["paymentId"]);
        let due: Timestamp = text(&new, "scheduledTime").parse().expect("a time");
        assert!(Timestamp::now().duration_since(due) < SignedDuration::from_mins(5), "{new}");
        let stored = payments(&stack).await.into_iter().find(|row| row["SK"].ends_with(text(&new, "paymentId")));
        let stored = stored.expect("the payment");
        assert_eq!(stored.contains_key("ByOperator"), by_operator, "a retry may do what the payment could");
        assert_eq!(operator.get(&path(&before)).await.body, before, "the failed payment is unchanged");

        // The new payment fails too. The failed payment keeps its retry, and the retry has its own.
        let again = bring_to(&operator, &new, "FAILED", "").await;
        assert_eq!(retry(&operator, &before).await, again);
        assert_eq!(retry(&operator, &again).await["retryOf"], new["paymentId"]);
    }
    stack.stop().await;
}

#[tokio::test]
async fn concurrent_and_repeated_retries_schedule_one_payment() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let before = failed_of(&client, &client).await;
    let ids = async |count| -> BTreeSet<String> {
        let retries = join_all((0..count).map(|_| retry(&client, &before))).await;
        retries.iter().map(|new| text(new, "paymentId").to_owned()).collect()
    };
    let first = ids(10).await;
    assert_eq!(first.len(), 1);
    assert_eq!(archive(&client, "2099-12-01").await, 1);
    assert_eq!(ids(3).await, first, "the failed payment is archived");
    let new = retry(&client, &before).await;
    bring_to(&client, &new, "CANCELLED", "").await;
    assert_eq!(archive(&client, "2099-12-01").await, 1);
    assert_eq!(retry(&client, &before).await["status"], "CANCELLED", "the retry is archived");
    assert_eq!(payments(&stack).await.len(), 0, "an archived payment is not restored");
    stack.stop().await;
}

#[tokio::test]
async fn unreadable_record_of_a_retry_fails_the_next_one() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let before = failed_of(&client, &client).await;
    retry(&client, &before).await;
    let is_record = |item: &unreadable::Item| unreadable::text(item, "Type") == "PaymentRetry";
    unreadable::damage(&stack, "PaymentScheduler", is_record, "PaymentId", unreadable::DAMAGES[0]).await;
    let answer = client.post(&format!("{}/retry", path(&before)), &json!({})).await;
    assert_problem(&answer, 500, "internal");
    assert_eq!(payments(&stack).await.len(), 2, "no second retry");
    stack.stop().await;
}

#[tokio::test]
async fn only_failed_payments_can_be_retried() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let others = Status::ALL.into_iter().filter(|status| *status != Status::Failed);
    let others: Vec<_> = others.map(|status| payment("A-1", TIME, status, 0)).collect();
    put(&stack, &others).await;
    for archived in [0, 2] {
        for payment in &others {
            let path = format!("/bank/accounts/A-1/payments/{}/retry", payment.id());
            let answer = client.post(&path, &json!({})).await;
            assert_problem(&answer, 409, "status-conflict");
            assert!(text(&answer.body, "detail").contains(payment.due.status.as_str()), "{}", answer.body);
        }
        assert_eq!(archive(&client, "2099-12-01").await, 2 - archived);
    }
    assert_eq!(rows(&stack, "PaymentScheduler", "PaymentRetry").await.len(), 0);
    stack.stop().await;
}
