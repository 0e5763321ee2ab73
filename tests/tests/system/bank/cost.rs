//! Compares the request units that each access pattern consumes with its declared cost, for each
//! table and index separately, and with both projections. The contract has the units of each event.

use bank::{Case, MAX_BYTES};
use keys::bank::Status;
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, Client,
    bank::{
        Row, inserted, payment, payments, put, put_run, rows, scheduled_at, stack, transactions, upload, without_jobs,
    },
    patterns::{cost_of, labels},
    send, text,
    units::{consumed, declared},
    until,
};
use table::Projection;

const TIME: &str = "2099-12-01T09:30:00Z";
const RANGE: &str = "/bank/accounts/A-1/payments?from=2099-12-01T09:30:00Z&to=2099-12-01T09:30:00Z";
const PROJECTIONS: [(&str, Projection); 2] = [("KEYS_ONLY", Projection::KeysOnly), ("ALL", Projection::All)];

const SCHEDULE: (&str, &str, &str) = (
    "schedule-payment",
    "POST /bank/accounts/A-1/payments",
    r#"{"scheduledTime": "2099-12-01T09:30:00Z", "data": "DATA"}"#,
);
const ARCHIVE: &str = "POST /_local/functions/archive-settled-payments/invocations";
const DISPATCH: &str = "POST /_local/functions/dispatch-due-payments/invocations";
const UNTIL: &str = r#"{"date": "2099-12-01"}"#;
const PENDING: &str = r#"{"status": "PENDING"}"#;
const FAILED: &str = r#"{"status": "FAILED"}"#;

/// Label of an access pattern, or nothing if the request is not measured; request; and body. `PATH`
/// is the payment that was scheduled last.
const STORY: [(&str, &str, &str); 23] = [
    SCHEDULE,
    ("list-account-payments", "GET RANGE", ""),
    ("list-due-payments", "GET /bank/payments/due?date=2099-12-01", ""),
    ("get-payment", "GET PATH", ""),
    ("dispatch-due-payments", DISPATCH, r#"{"detail-type": "Scheduled Event", "time": "2099-12-01T09:30:00Z"}"#),
    ("list-overdue-payments", "GET /bank/payments/overdue", ""),
    ("get-day not closed", "GET /bank/days/2099-12-01", ""),
    ("update-payment-status to PROCESSED", "PATCH PATH", r#"{"status": "PROCESSED", "transactionId": "TRANSACTION"}"#),
    ("archive-settled-payments", ARCHIVE, UNTIL),
    ("get-payment archived", "GET PATH", ""),
    ("list-account-transactions", "GET /bank/accounts/A-1/transactions", ""),
    ("list-transactions-by-date", "GET /bank/transactions?date=2099-12-01", ""),
    ("find-transaction", "GET /bank/transactions/TRANSACTION", ""),
    SCHEDULE,
    ("update-payment-status", "PATCH PATH", PENDING),
    ("", "PATCH PATH", FAILED),
    ("retry-payment", "POST PATH/retry", "{}"),
    ("", ARCHIVE, UNTIL),
    SCHEDULE,
    ("", "PATCH PATH", PENDING),
    ("", "PATCH PATH", FAILED),
    ("", ARCHIVE, UNTIL),
    ("retry-payment archived", "POST PATH/retry", "{}"),
];

/// Patterns whose cost is the one of the payment before its archive.
const BEFORE: [&str; 2] = ["archive-settled-payments", "retry-payment archived"];

/// Patterns that do not depend on the size of a payment. The contract measures them.
const OF_EVENTS: [&str; 14] = [
    "close-day",
    "continue-bank-job, dispatch",
    "get-bank-job",
    "get-day",
    "get-dispatching",
    "get-import",
    "import-payments",
    "list-imports",
    "retry-bank-job",
    "retry-import",
    "schedule-standing-orders",
    "set-dispatching",
    "start-close",
    "start-dispatch",
];

/// Size of an item as DynamoDB counts it: attribute names and values.
fn bytes(row: &Row) -> usize {
    row.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Returns the input of the cost functions for items as large as `row`.
pub(super) fn case(projection: Projection, row: &Row, items: usize) -> Case {
    let entry = row.iter().filter(|(name, _)| ["PK", "SK", "GSI1PK", "GSI1SK"].contains(&name.as_str()));
    let entry = entry.map(|(name, value)| name.len() + value.len()).sum();
    Case { item: bytes(row), entry, projection, shards: 5, items, keyed: false, run: 0 }
}

pub(super) fn assert_cost(label: &str, case: &Case, answer: &Answer) {
    assert!(matches!(answer.status, 200..=202), "{label}: {}", answer.body);
    assert_eq!(consumed(answer), declared(&cost_of(&bank::patterns(), label, case)), "{label} of {case:?}");
}

/// Returns the size of the largest `data` that the bank accepts in a payment.
async fn largest(client: &Client) -> usize {
    let post = async |bytes: usize| {
        let new = json!({"scheduledTime": TIME, "data": "x".repeat(bytes - 2)});
        client.post("/bank/accounts/A-1/payments", &new).await
    };
    let refused = post(MAX_BYTES).await;
    assert_eq!(refused.status, 413);
    let words = text(&refused.body, "detail").split(' ');
    let most = words.filter_map(|word| word.parse().ok()).next_back().expect("a number");
    assert_eq!(post(most + 1).await.status, 413);
    most
}

#[tokio::test]
async fn largest_payment_consumes_its_declared_cost() {
    for (name, projection) in PROJECTIONS {
        let stack = without_jobs().parameter("IndexProjection", name).start().await.expect("a stack");
        let client = Client::operator(&stack);
        let (data, transaction) = ("x".repeat(largest(&client).await - 2), "\u{1F4B6}".repeat(128));
        let (mut path, mut payment, mut measured) = (String::new(), Row::new(), BTreeSet::new());
        for (label, request, body) in STORY {
            let request = request.replace("PATH", &path).replace("TRANSACTION", &transaction).replace("RANGE", RANGE);
            let (method, url) = request.split_once(' ').expect("a method and a path");
            let body = body.replace("DATA", &data).replace("TRANSACTION", &transaction);
            let asking = client.request(method, url);
            let body: Option<Value> = (!body.is_empty()).then(|| serde_json::from_str(&body).expect("JSON"));
            let answer = send(body.iter().fold(asking, system_tests::Asking::json)).await;
            assert!(matches!(answer.status, 200..=202), "{request}: {}", answer.body);
            if label == SCHEDULE.0 {
                answer.headers["location"].to_str().expect("text").clone_into(&mut path);
            }
            let is_it = |row: &Row| path.ends_with(row["SK"].rsplit('#').next().expect("an id"));
            let archived = transactions(&stack).await.into_iter().find(&is_it);
            payment = payments(&stack).await.into_iter().find(&is_it).unwrap_or(payment);
            let row = archived.filter(|_| !BEFORE.contains(&label)).unwrap_or_else(|| payment.clone());
            if !label.is_empty() {
                assert_cost(label, &case(projection, &row, 1), &answer);
                measured.insert(label.to_owned());
            }
            if label == "update-payment-status to PROCESSED" {
                // A payment that an operator reports on has no attempts. Its version has one digit
                // as text, and four digits take three bytes. This one is no retry.
                let missing = 2 + "Attempts".len() + 2 + "RetryOf".len() + "20261201T093000Z-".len() + 32;
                // Nor has it the longest author.
                let longest = 3 + 2 + "sub".len() + 128 + "scope".len() + "bank:operate".len();
                let missing = missing + longest - payment["ChangedBy"].len();
                assert_eq!(bytes(&payment), MAX_BYTES - missing, "the largest accepted payment must fill 8 KB");
            }
        }
        measured.extend(measure_jobs(&stack, projection, &data).await);
        measured.extend(measure_amendments(&stack, projection, &data).await);
        measured.extend(measure_standing_orders(&stack, projection).await);
        let all = labels(&bank::patterns()).into_iter();
        let others = |label: &String| !OF_EVENTS.contains(&label.as_str()) && !label.starts_with("execute-payment");
        assert_eq!(measured, all.filter(others).collect(), "execution.rs measures the execution");
        stack.stop().await;
    }
}

/// Measures the close of a day with one payment, and the import of a payment.
async fn measure_jobs(stack: &Stack, projection: Projection, data: &str) -> [String; 2] {
    let client = Client::operator(stack);
    let run = async |partition: &str, sort: &str| client.invoke("continue-bank-job", &inserted(partition, sort)).await;
    let of_account =
        async |account: &str| payments(stack).await.into_iter().find(|row| row["PK"] == account).expect("a payment");
    let [close, import] = ["continue-bank-job, close", "continue-bank-job, import"].map(str::to_owned);
    let mut processed = payment("A-2", "2099-11-30T10:00:00Z", Status::Processed, 0);
    processed.data = serde_json::from_value(json!(format!("\"{data}\""))).expect("data");
    put(stack, &[processed]).await;
    let one = case(projection, &of_account("A-2").await, 1);
    let closing = client.invoke("close-day", &scheduled_at("2099-12-01T00:15:00Z")).await.body;
    assert_cost(&close, &one, &run(&format!("JOB#{}", text(&closing, "jobId")), "JOB").await);

    let note = &data[..data.len().saturating_sub(100)];
    let line = json!({"id": "K-1", "accountId": "A-3", "scheduledTime": TIME,
        "data": {"amount": "1.00", "currency": "USD", "note": note}});
    upload(stack, "inbox/cost.jsonl", &[], line.to_string()).await;
    let started = until(&client, "/bank/imports/cost", |answer| answer.status == 200).await.body;
    let imported = run("IMPORT#cost", &format!("RUN#{}", text(&started, "run"))).await;
    assert_cost(&import, &case(projection, &of_account("A-3").await, 1), &imported);
    [close, import]
}

/// Measures a payment that gets new data, and one that gets new data and a new time.
async fn measure_amendments(stack: &Stack, projection: Projection, data: &str) -> [String; 2] {
    let client = Client::operator(stack);
    let labels = ["update-payment-status, new data", "update-payment-status, new time"].map(str::to_owned);
    for (label, account) in labels.iter().zip(["A-5", "A-6"]) {
        let mut old = payment(account, TIME, Status::Scheduled, 0);
        old.created_at = "2020-12-01T09:30:00Z".parse().expect("a time");
        (old.data, old.by_operator) = (serde_json::from_value(json!(format!("\"{data}\""))).expect("data"), true);
        put(stack, std::slice::from_ref(&old)).await;
        let mut body = json!({"data": data.replace('x', "y")});
        if account == "A-6" {
            body["scheduledTime"] = "2099-12-02T09:30:00Z".into();
        }
        let amended = client.patch(&format!("/bank/accounts/{account}/payments/{}", old.id()), &body).await;
        let new = payments(stack).await.into_iter().find(|row| row["PK"] == account).expect("a payment");
        assert_cost(label, &case(projection, &new, 1), &amended);
    }
    labels
}

/// Measures the requests and the job of a standing order with several payments.
async fn measure_standing_orders(stack: &Stack, projection: Projection) -> [String; 6] {
    const ORDER: &str = "/bank/accounts/A-4/standing-orders/rent";
    let client = Client::operator(stack);
    let mut order = json!({"schedule": "weekly", "day": "monday", "time": "00:00", "firstDate": "2025-01-01"});
    let of_order = async || rows(stack, "PaymentScheduler", "StandingOrder").await.pop().expect("an order");
    order["data"] = "x".repeat(2_000).into();
    let created = client.put(ORDER, &order).await;
    let one = case(projection, &of_order().await, 1);
    assert_cost("put-standing-order", &one, &created);
    assert_cost("get-standing-order", &one, &client.get(ORDER).await);
    assert_cost("list-standing-orders", &one, &client.get("/bank/accounts/A-4/standing-orders").await);
    let jobs = rows(stack, "BankJobs", "Job").await;
    let job = jobs.iter().find(|job| job["Kind"] == "standing-order").expect("a job");
    let run = client.invoke("continue-bank-job", &inserted(&job["PK"], &job["SK"])).await;
    let scheduled = payments(stack).await.iter().filter(|row| row["PK"] == "A-4").count();
    assert!(scheduled > 10, "{scheduled} payments");
    assert_cost("continue-bank-job, standing order", &Case { items: scheduled, ..one }, &run);
    order["data"] = "y".repeat(2_000).into();
    assert_cost("put-standing-order, change", &one, &client.put(ORDER, &order).await);
    let jobs = rows(stack, "BankJobs", "Job").await;
    let job = jobs.iter().find(|job| job["Kind"] == "standing-order" && job["State"] == "running").expect("a job");
    client.invoke("continue-bank-job", &inserted(&job["PK"], &job["SK"])).await;
    let ended = send(client.request("DELETE", ORDER)).await;
    assert_eq!(consumed(&ended), declared(&cost_of(&bank::patterns(), "remove-standing-order", &one)));
    [
        "put-standing-order",
        "put-standing-order, change",
        "get-standing-order",
        "list-standing-orders",
        "remove-standing-order",
        "continue-bank-job, standing order",
    ]
    .map(str::to_owned)
}

#[tokio::test]
async fn page_of_four_items_consumes_its_declared_cost() {
    for (name, projection) in PROJECTIONS {
        let stack = stack().parameter("IndexProjection", name).start().await.expect("a stack");
        let client = Client::operator(&stack);
        let several: Vec<_> = (0..4).map(|shard| payment("A-1", TIME, Status::Processed, shard)).collect();
        put(&stack, &several).await;
        let four = case(projection, &payments(&stack).await[0], 4);
        assert_cost("list-account-payments", &four, &client.get(RANGE).await);
        let due = client.get("/bank/payments/due?date=2099-12-01&status=PROCESSED").await;
        assert_cost("list-due-payments", &four, &due);
        let archived = client.invoke("archive-settled-payments", &json!({"date": "2099-12-01"})).await;
        assert_cost("archive-settled-payments", &four, &archived);
        let four = case(projection, &transactions(&stack).await[0], 4);
        let of_date = client.get("/bank/transactions?date=2099-12-01").await;
        assert_cost("list-transactions-by-date", &four, &of_date);
        assert_cost("list-account-transactions", &four, &client.get("/bank/accounts/A-1/transactions").await);
    }
}

#[tokio::test]
async fn page_of_imports_consumes_its_declared_cost() {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let mut run = 0;
    for number in 10..70 {
        let import = format!("{number}-{}", "n".repeat(500));
        run = table::size(&put_run(&stack, &import, "2025-12-01T12:00:00Z").await).expect("a size");
    }
    for items in [1, 20, 60] {
        let page = Case { run, items, ..Case::default() };
        assert_cost("list-imports", &page, &client.get(&format!("/bank/imports?limit={items}")).await);
    }
    stack.stop().await;
}
