//! Tests of standing orders (B20, docs/requirements/bank.md#standing-orders).

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use system_tests::{
    Answer, Client, assert_problem,
    bank::{Row, payments, rows, unexecuted as stack},
    text, until,
};

const ORDERS: &str = "/bank/accounts/A-1/standing-orders";
const RENT: &str = "/bank/accounts/A-1/standing-orders/rent";
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

fn in_days(days: i64) -> Date {
    (Timestamp::now() + SignedDuration::from_hours(24 * days)).to_zoned(TimeZone::UTC).date()
}

/// A weekly order on the weekday of the day after tomorrow. Its payments are in the future during
/// the whole test.
fn weekly(amount: &str) -> Value {
    let day = usize::try_from(in_days(2).weekday().to_monday_zero_offset()).expect("a number");
    json!({
        "schedule": "weekly", "day": WEEKDAYS[day], "time": "12:00", "firstDate": today().to_string(),
        "data": {"amount": amount},
    })
}

fn status(row: &Row) -> &str {
    row["GSI1SK"].split('#').next().expect("a status")
}

/// The times of the payments with this status, in order.
async fn times(stack: &Stack, wanted: &str) -> Vec<String> {
    let rows = payments(stack).await;
    let rows = rows.iter().filter(|row| status(row) == wanted);
    let mut times: Vec<String> = rows.map(|row| row["SK"].split('#').next().expect("a time").to_owned()).collect();
    times.sort();
    times
}

/// Noon of each seventh day from the day after tomorrow, up to the 91st day.
fn weeks() -> Vec<String> {
    (0..13).map(|week| 2 + 7 * week).filter(|day| *day <= 91).map(|day| format!("{}T12:00:00Z", in_days(day))).collect()
}

/// Waits until all jobs of the bank are done.
async fn settle(stack: &Stack) -> Vec<Row> {
    for _ in 0..600 {
        let jobs = rows(stack, "BankJobs", "Job").await;
        if jobs.iter().all(|job| job["State"] != "running") {
            return jobs;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    unreachable!("a job does not end")
}

async fn delete(client: &Client, path: &str) -> Answer {
    system_tests::send(client.request("DELETE", path)).await
}

#[tokio::test]
async fn put_schedules_the_payments_of_90_days_once() {
    let stack = stack().start().await.expect("a stack");
    let customer = Client::caller(&stack, "bank:read bank:write", &["A-1"]);
    let created = customer.put(RENT, &weekly("1.00")).await;
    assert_eq!(created.status, 201, "{}", created.body);
    assert_eq!(created.headers["location"], RENT);
    settle(&stack).await;
    assert_eq!(times(&stack, "SCHEDULED").await, weeks());
    let (listed, _) = customer.all("/bank/accounts/A-1/payments").await;
    assert!(listed.len() >= 12 && listed.iter().all(|payment| payment["data"] == json!({"amount": "1.00"})));
    let before = payments(&stack).await;
    // The same request changes nothing, and neither does another run over all orders.
    let again = customer.put(RENT, &weekly("1.00")).await;
    assert_eq!((again.status, &again.body), (200, &created.body));
    customer.invoke("schedule-standing-orders", &json!({})).await;
    let jobs = settle(&stack).await;
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    assert_eq!(payments(&stack).await, before);
    assert_eq!(customer.get(RENT).await.body, created.body);
    assert_eq!(customer.get(ORDERS).await.body, json!({"items": [created.body]}));
    stack.stop().await;
}

#[tokio::test]
async fn change_cancels_open_payments_and_schedules_others() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    operator.put(RENT, &weekly("1.00")).await;
    settle(&stack).await;
    // The first payment is dispatched before the change.
    let first = payments(&stack).await.into_iter().min_by_key(|row| row["SK"].clone()).expect("a payment");
    let id = first["SK"].rsplit('#').next().expect("an id");
    let path = format!("/bank/accounts/A-1/payments/{id}");
    assert_eq!(operator.patch(&path, &json!({"status": "PENDING"})).await.status, 200);
    let changed = operator.put(RENT, &weekly("2.00")).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    settle(&stack).await;
    assert_eq!(times(&stack, "PENDING").await, weeks()[..1]);
    assert_eq!(times(&stack, "CANCELLED").await, weeks()[1..]);
    // The date of the dispatched payment is not paid again.
    assert_eq!(times(&stack, "SCHEDULED").await, weeks()[1..]);
    for row in payments(&stack).await {
        let amount = if status(&row) == "SCHEDULED" { "2.00" } else { "1.00" };
        assert_eq!(row["Data"], format!("{{\"amount\":\"{amount}\"}}"), "{row:?}");
        assert_eq!(row.contains_key("SettledAt"), status(&row) == "CANCELLED", "{row:?}");
    }
    stack.stop().await;
}

/// A payment with a new time is not one of the order any more.
#[tokio::test]
async fn change_keeps_a_moved_payment_and_does_not_pay_its_date_again() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    operator.put(RENT, &weekly("1.00")).await;
    settle(&stack).await;
    let second = format!("{}#", weeks()[1]);
    let found = payments(&stack).await;
    let row = found.iter().find(|row| row["SK"].starts_with(&second)).expect("a payment");
    let client = stack.client().expect("a client");
    let update = client.update_item().table_name(stack.table("PaymentScheduler").expect("a table"));
    let update = update.key("PK", AttributeValue::S("A-1".into())).key("SK", AttributeValue::S(row["SK"].clone()));
    let update = update.update_expression("SET CreatedAt = :old");
    update
        .expression_attribute_values(":old", AttributeValue::S("2020-12-01T09:30:00Z".into()))
        .send()
        .await
        .expect("an update");
    let path = format!("/bank/accounts/A-1/payments/{}", row["SK"].rsplit('#').next().expect("an id"));
    let time = format!("{}T18:00:00Z", in_days(10));
    let moved = operator.patch(&path, &json!({"scheduledTime": time})).await;
    assert_eq!(moved.status, 200, "{}", moved.body);
    assert_eq!(operator.put(RENT, &weekly("2.00")).await.status, 200);
    settle(&stack).await;
    let mut expected = weeks();
    expected[1] = time;
    assert_eq!(times(&stack, "SCHEDULED").await, expected);
    assert_eq!(times(&stack, "CANCELLED").await.len(), weeks().len() - 1);
    stack.stop().await;
}

#[tokio::test]
async fn ended_order_can_be_put_again() {
    let stack = stack().start().await.expect("a stack");
    let customer = Client::caller(&stack, "bank:read bank:write", &["A-1"]);
    for round in 1..=2 {
        assert_eq!(customer.put(RENT, &weekly("1.00")).await.status, 201);
        settle(&stack).await;
        assert_eq!(times(&stack, "SCHEDULED").await, weeks());
        assert_eq!(delete(&customer, RENT).await.status, 204);
        settle(&stack).await;
        assert_eq!(times(&stack, "SCHEDULED").await, [""; 0]);
        assert_eq!(times(&stack, "CANCELLED").await.len(), round * weeks().len());
    }
    assert_problem(&customer.get(RENT).await, 404, "not-found");
    assert_problem(&delete(&customer, RENT).await, 404, "not-found");
    // An order that ends before its job has run has no payments.
    assert_eq!(customer.put(RENT, &weekly("1.00")).await.status, 201);
    assert_eq!(delete(&customer, RENT).await.status, 204);
    settle(&stack).await;
    assert_eq!(times(&stack, "SCHEDULED").await, [""; 0]);
    stack.stop().await;
}

/// Moves the stored order back to the state that it had some months ago, on its last day.
async fn age(stack: &Stack, order: &str, damage: bool) {
    let client = stack.client().expect("a client");
    let found = rows(stack, "PaymentScheduler", "StandingOrder").await;
    let row = found.iter().find(|row| row["SK"].ends_with(order)).expect("an order");
    let hash = row["GSI1SK"].rsplit('#').next().expect("a hash");
    let key = |name: &str| AttributeValue::S(row[name].clone());
    let due = AttributeValue::S(format!("STANDING#{}#{hash}", in_days(-30)));
    let first = AttributeValue::S(if damage { "damaged".into() } else { in_days(-40).to_string() });
    let update = client.update_item().table_name(stack.table("PaymentScheduler").expect("a table"));
    let update = update.key("PK", key("PK")).key("SK", key("SK"));
    let update = update.update_expression("SET GSI1SK = :due, Recurrence.FirstDate = :first");
    let update = update.expression_attribute_values(":due", due).expression_attribute_values(":first", first);
    update.send().await.expect("an update");
}

#[tokio::test]
async fn daily_run_schedules_what_has_come_into_reach_despite_a_damaged_order() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    for order in ["one", "two", "three"] {
        let mut body = weekly(order);
        body["firstDate"] = "2099-01-01".into();
        assert_eq!(client.put(&format!("{ORDERS}/{order}"), &body).await.status, 201);
    }
    settle(&stack).await;
    assert_eq!(payments(&stack).await.len(), 0);
    age(&stack, "one", false).await;
    age(&stack, "two", true).await;
    age(&stack, "three", false).await;
    let started = client.invoke("schedule-standing-orders", &json!({})).await;
    let job = format!("/bank/jobs/{}", text(&started.body, "jobId"));
    let done = until(&client, &job, |answer| answer.body["status"] == "done").await.body;
    let weeks = weeks();
    assert_eq!((&done["kind"], &done["skipped"]), (&json!("standing-orders"), &json!(1)), "{done}");
    assert_eq!(done["done"], json!(2 * weeks.len()), "{done}");
    let mut stored = BTreeMap::<String, Vec<String>>::new();
    for row in payments(&stack).await {
        stored.entry(row["Data"].clone()).or_default().push(row["SK"].split('#').next().expect("a time").to_owned());
    }
    assert_eq!(stored.len(), 2);
    assert!(stored.into_values().all(|mut times| {
        times.sort();
        times == weeks
    }));
    stack.stop().await;
}

#[tokio::test]
async fn last_payment_ends_the_work_of_an_order() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let mut body = weekly("1.00");
    body["lastDate"] = in_days(9).to_string().into();
    assert_eq!(client.put(RENT, &body).await.status, 201);
    settle(&stack).await;
    assert_eq!(times(&stack, "SCHEDULED").await, weeks()[..2]);
    let [order] = &rows(&stack, "PaymentScheduler", "StandingOrder").await[..] else { panic!("one order") };
    assert!(!order.contains_key("GSI1PK") && !order.contains_key("GSI1SK"), "{order:?}");
    assert_eq!(delete(&client, RENT).await.status, 204);
    settle(&stack).await;
    assert_eq!(times(&stack, "CANCELLED").await, weeks()[..2]);
    stack.stop().await;
}

#[tokio::test]
async fn rejects_orders_that_cannot_pay() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    for (change, pointer) in [
        (json!({"day": 5}), "/body/day"),
        (json!({"schedule": "monthly"}), "/body/day"),
        (json!({"lastDate": "2020-01-01"}), "/body/lastDate"),
        (json!({"firstDate": "2019-01-01", "lastDate": "2020-01-01"}), "/body/lastDate"),
        (json!({"time": "9:30"}), "/body/time"),
        (json!({"day": "15", "schedule": "monthly"}), "/body/day"),
    ] {
        let mut body = weekly("1.00");
        body.as_object_mut().expect("an object").extend(change.as_object().cloned().expect("an object"));
        let refused = client.put(RENT, &body).await;
        assert_problem(&refused, 400, "invalid-request");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.body);
    }
    let mut large = weekly("1.00");
    large["data"] = "x".repeat(8 * 1024).into();
    assert_problem(&client.put(RENT, &large).await, 413, "too-large");
    assert_problem(&client.get(RENT).await, 404, "not-found");
    stack.stop().await;
}
