//! Content, order and paging of the bank's lists.

use futures::{StreamExt, stream};
use serde_json::Value;
use system_tests::{
    Client,
    bank::{archive, bring_to, path, schedule, stack_with},
    on_both_projections, text, texts,
};

const DAYS: &str = "from=2099-01-01T00:00:00Z&to=2099-12-31T23:59:59Z";

on_both_projections! {
    lists_return_the_example_rows_of_the_requirement
    day_includes_its_first_and_last_second
    range_includes_both_ends_and_nothing_outside
    status_parameter_filters_every_list
    pages_contain_every_item_once_in_time_order
    archived_payment_moves_to_the_transaction_lists
}

/// Example rows of `PaymentScheduler` in the data model, each with account, time and status
/// (docs/requirements/bank.md#example-payments). Only the year differs from the data model, so that
/// no payment is in the past.
const MODEL: [(&str, &str, &str); 4] = [
    ("Account1", "2099-09-25T01:01:01Z", "PENDING"),
    ("Account1", "2099-09-26T02:02:02Z", "PENDING"),
    ("Account1", "2099-09-24T01:01:01Z", "PROCESSED"),
    ("Account2", "2099-09-24T01:01:01Z", "SCHEDULED"),
];

async fn lists_return_the_example_rows_of_the_requirement(projection: &str) {
    let (stack, client) = stack_with(projection).await;
    let mut rows = Vec::new();
    for (account, time, status) in MODEL {
        let payment = schedule(&client, account, time).await;
        rows.push(bring_to(&client, &payment, status, "UUID-UUID-UUID-UUID").await);
    }
    let of_account = |account: &str, more: &str| format!("/bank/accounts/{account}/payments?{DAYS}{more}");
    let due = |day: &str, status: &str| format!("/bank/payments/due?date=2099-09-{day}&status={status}");
    // Expected rows of each list, in order.
    let lists: [(String, &[usize]); 10] = [
        (of_account("Account1", ""), &[2, 0, 1]),
        (of_account("Account1", "&status=PENDING"), &[0, 1]),
        (of_account("Account1", "&status=PROCESSED"), &[2]),
        (of_account("Account1", "&status=SCHEDULED"), &[]),
        (of_account("Account2", ""), &[3]),
        (due("24", "SCHEDULED"), &[3]),
        (due("24", "PROCESSED"), &[2]),
        (due("24", "PENDING"), &[]),
        (due("25", "PENDING"), &[0]),
        (due("26", "PENDING"), &[1]),
    ];
    for (list, wanted) in lists {
        let wanted: Vec<Value> = wanted.iter().map(|row| rows[*row].clone()).collect();
        assert_eq!(client.all(&list).await.0, wanted, "{list}");
    }
    stack.stop().await;
}

async fn day_includes_its_first_and_last_second(projection: &str) {
    let (stack, client) = stack_with(projection).await;
    let rows = [
        ("2099-12-01T00:30:00+02:00", "2099-11-30T22:30:00Z"),
        ("2099-11-30T23:59:59.999999999Z", "2099-11-30T23:59:59Z"),
        ("2099-12-01T00:00:00Z", "2099-12-01T00:00:00Z"),
        ("2099-12-01T23:59:59.999Z", "2099-12-01T23:59:59Z"),
        ("2099-12-02T00:00:00.000Z", "2099-12-02T00:00:00Z"),
        ("2099-12-01T23:00:00-01:30", "2099-12-02T00:30:00Z"),
    ];
    for (sent, answered) in rows {
        assert_eq!(text(&schedule(&client, "A-1", sent).await, "scheduledTime"), answered);
    }
    for (date, from, to) in [("2099-11-30", 0, 2), ("2099-12-01", 2, 4), ("2099-12-02", 4, 6)] {
        let (items, _) = client.all(&format!("/bank/payments/due?date={date}")).await;
        let wanted: Vec<_> = rows[from..to].iter().map(|(_, answered)| *answered).collect();
        assert_eq!(texts(&items, "scheduledTime"), wanted, "{date}");
    }
    stack.stop().await;
}

async fn range_includes_both_ends_and_nothing_outside(projection: &str) {
    let (stack, client) = stack_with(projection).await;
    for second in 0..5 {
        let payment = schedule(&client, "A-1", &format!("2099-12-01T09:30:0{second}Z")).await;
        bring_to(&client, &payment, if second == 4 { "PENDING" } else { "SCHEDULED" }, "").await;
    }
    // Accounts whose names share a prefix.
    for account in ["A-", "A-10", "A-2"] {
        schedule(&client, account, "2099-12-01T09:30:02Z").await;
    }
    let rows: [(&str, &str, &[u32]); 11] = [
        ("09:30:00Z", "09:30:04Z", &[0, 1, 2, 3, 4]),
        ("09:30:01Z", "09:30:03Z", &[1, 2, 3]),
        ("09:30:02Z", "09:30:02Z", &[2]),
        ("09:30:01.001Z", "09:30:03.999Z", &[2, 3]),
        ("09:30:01.000Z", "09:30:01.000Z", &[1]),
        ("09:30:01.1Z", "09:30:01.9Z", &[]),
        ("09:30:01.5Z", "09:30:01.5Z", &[]),
        ("09:29:59.999Z", "09:30:00Z", &[0]),
        ("09:30:04.000000001Z", "09:30:09Z", &[]),
        ("11:30:01%2B02:00", "06:00:03-03:30", &[1, 2, 3]),
        ("00:00:00Z", "09:29:59.999Z", &[]),
    ];
    for (from, to, wanted) in rows {
        let range = format!("from=2099-12-01T{from}&to=2099-12-01T{to}");
        let wanted: Vec<_> = wanted.iter().map(|second| format!("2099-12-01T09:30:0{second}Z")).collect();
        for limit in [1, 50] {
            let (items, _) = client.all(&format!("/bank/accounts/A-1/payments?{range}&limit={limit}")).await;
            assert_eq!(texts(&items, "scheduledTime"), wanted, "{range}");
            assert_eq!(client.all(&format!("/bank/accounts/A-1/transactions?{range}&limit={limit}")).await.0.len(), 0);
        }
    }
    // A date is a whole day. A bound that cannot be stored is no limit, or has nothing behind it.
    for (range, count) in [
        ("from=2099-12-01&to=2099-12-01", 5),
        ("from=2099-12-01t09:30:03.0000000000z&to=2099-12-01", 2),
        ("from=2099-11-30&to=2099-12-01T09:30:01Z", 2),
        ("from=2099-11-29&to=2099-11-30", 0),
        ("from=2099-12-02&to=2099-12-31", 0),
        ("to=9999-12-31T23:59:59Z", 5),
        ("from=0000-01-01T00:00:00%2B23:59&to=9999-12-31", 5),
        ("from=9999-12-31T23:59:59Z", 0),
        ("from=9999-12-31&to=9999-12-31", 0),
        ("from=0000-01-01&to=0000-01-01T00:00:00Z", 0),
    ] {
        let (items, _) = client.all(&format!("/bank/accounts/A-1/payments?{range}")).await;
        assert_eq!(items.len(), count, "{range}");
    }
    stack.stop().await;
}

/// Schedules twenty payments of the account, four in each status.
async fn some_of_each_status(client: &Client, account: &str) -> Vec<Value> {
    let mut payments = Vec::new();
    for number in 0..20 {
        let payment = schedule(client, account, &format!("2099-12-01T09:{number:02}:00Z")).await;
        let transaction = format!("{account}-{number}");
        payments.push(bring_to(client, &payment, STATUSES[number % 5], &transaction).await);
    }
    payments
}

async fn status_parameter_filters_every_list(projection: &str) {
    let (stack, client) = stack_with(projection).await;
    let payments = some_of_each_status(&client, "A-1").await;
    for status in STATUSES {
        let wanted: Vec<_> = payments.iter().filter(|payment| payment["status"] == status).cloned().collect();
        assert_eq!(wanted.len(), 4);
        for limit in [3, 100] {
            for list in [format!("/bank/accounts/A-1/payments?{DAYS}"), "/bank/payments/due?date=2099-12-01".into()] {
                let list = format!("{list}&status={status}&limit={limit}");
                assert_eq!(client.all(&list).await.0, wanted, "{list}");
            }
        }
    }
    assert_eq!(client.all("/bank/payments/due?date=2099-12-01").await.0.len(), 4, "SCHEDULED is the default");
    stack.stop().await;
}

const STATUSES: [&str; 5] = ["SCHEDULED", "PENDING", "PROCESSED", "FAILED", "CANCELLED"];
const SETTLED: [&str; 3] = ["PROCESSED", "FAILED", "CANCELLED"];

/// Schedules payments of three accounts on one day. Half of the payments are archived. In one
/// second, more payments are due than fit on a page.
async fn filled(client: &Client) {
    let numbers = 0..60_u32;
    let one = |number: u32| async move {
        let minute = if number.is_multiple_of(3) { 30 } else { number % 60 };
        let payment = schedule(client, &format!("A-{}", number % 3), &format!("2099-12-01T09:{minute:02}:00Z")).await;
        let status = if number.is_multiple_of(2) { "PROCESSED" } else { "SCHEDULED" };
        bring_to(client, &payment, status, &format!("T-{number}")).await;
    };
    stream::iter(numbers).map(one).buffer_unordered(8).collect::<Vec<_>>().await;
    assert_eq!(archive(client, "2099-12-01").await, 30);
}

/// Path of each kind of list, and the number of items in the list after [`filled`].
fn lists() -> [(String, usize); 4] {
    [
        (format!("/bank/accounts/A-0/payments?{DAYS}"), 10),
        ("/bank/payments/due?date=2099-12-01".to_owned(), 30),
        ("/bank/accounts/A-0/transactions?".to_owned(), 10),
        ("/bank/transactions?date=2099-12-01".to_owned(), 30),
    ]
}

fn sorted(items: &[Value]) -> Vec<(&str, &str)> {
    let mut keys: Vec<_> = items.iter().map(|item| (text(item, "scheduledTime"), text(item, "paymentId"))).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

async fn pages_contain_every_item_once_in_time_order(projection: &str) {
    let (stack, client) = stack_with(projection).await;
    filled(&client).await;
    for (list, count) in lists() {
        let (whole, _) = client.all(&format!("{list}&limit=100")).await;
        let keys: Vec<_> = whole.iter().map(|item| (text(item, "scheduledTime"), text(item, "paymentId"))).collect();
        assert_eq!((keys.len(), &keys), (count, &sorted(&whole)), "{list}");
        for limit in [1, 2, 7, 100] {
            let (items, pages) = client.all(&format!("{list}&limit={limit}")).await;
            assert_eq!(items, whole, "{list}, {limit}");
            assert!((count.div_ceil(limit)..=count / limit + 1).contains(&pages), "{list}, {limit}: {pages} pages");
        }
        let (items, _) = client.all(&list).await;
        assert_eq!(items, whole, "{list}, default limit");
    }
    stack.stop().await;
}

async fn archived_payment_moves_to_the_transaction_lists(projection: &str) {
    let (stack, client) = stack_with(projection).await;
    let payments = some_of_each_status(&client, "A-1").await;
    let later = schedule(&client, "A-1", "2099-12-02T00:00:00Z").await;
    bring_to(&client, &later, "PROCESSED", "later").await;
    let (moved, stayed): (Vec<Value>, Vec<Value>) =
        payments.into_iter().partition(|payment| SETTLED.contains(&text(payment, "status")));
    for moved_now in [12, 0] {
        assert_eq!(archive(&client, "2099-12-01").await, moved_now);
        let (left, _) = client.all(&format!("/bank/accounts/A-1/payments?{DAYS}")).await;
        assert_eq!(left[..left.len() - 1], stayed, "other payments are unchanged");
        assert_eq!(left[left.len() - 1]["paymentId"], later["paymentId"], "payments of the next day stay");
        let processed = "/bank/payments/due?status=PROCESSED&date=2099-12-02";
        assert_eq!(client.all(processed).await.0.len(), 1);
        let (all, _) = client.all("/bank/accounts/A-1/transactions").await;
        let wanted: Vec<_> =
            moved.iter().zip(&all).map(|(payment, transaction)| archived(payment, transaction)).collect();
        assert_eq!((all.len(), &all), (moved.len(), &wanted));
        for status in STATUSES {
            let due = format!("/bank/payments/due?status={status}&date=2099-12-01");
            let of_status: Vec<_> = all.iter().filter(|transaction| transaction["status"] == status).cloned().collect();
            assert_eq!(client.all(&due).await.0.len() + of_status.len(), 4, "{status}");
            for list in [
                format!("/bank/transactions?date=2099-12-01&status={status}"),
                format!("/bank/accounts/A-1/transactions?{DAYS}&status={status}"),
            ] {
                assert_eq!(client.all(&list).await.0, of_status, "{list}");
            }
        }
        let by_default = client.all("/bank/transactions?date=2099-12-01").await.0;
        for transaction in &by_default {
            let found = client.get(&format!("/bank/transactions/{}", text(transaction, "transactionId"))).await;
            assert_eq!(found.body, *transaction);
        }
        assert_eq!(by_default.len(), 4, "PROCESSED is the default");
        for payment in &moved {
            let found = client.get(&path(payment)).await;
            assert_eq!((found.status, &found.body), (200, payment), "an archived payment is still found");
        }
        assert_eq!(client.get("/bank/transactions/later").await.status, 404, "it is not archived yet");
    }
    stack.stop().await;
}

/// Expected response for the archived payment.
fn archived(payment: &Value, transaction: &Value) -> Value {
    let mut wanted = payment.clone();
    let members = wanted.as_object_mut().expect("an object");
    members.insert("archivedAt".to_owned(), transaction["archivedAt"].clone());
    assert!(text(transaction, "archivedAt").ends_with('Z'));
    wanted
}
