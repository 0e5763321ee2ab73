//! Content, order and paging of the bank's lists.

use keys::bank::Status;
use serde_json::Value;
use system_tests::{
    Client,
    bank::{archive, bring_to, path, payment, put, schedule, stack_with},
    on_both_projections, text, texts,
};

const DAYS: &str = "from=2099-01-01T00:00:00Z&to=2099-12-31T23:59:59Z";

on_both_projections! {
    lists_return_the_example_rows_of_the_requirement
    days_and_ranges_include_both_ends_and_nothing_outside
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

async fn days_and_ranges_include_both_ends_and_nothing_outside(projection: &str) {
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
    // Accounts whose names share a prefix.
    for account in ["A-", "A-10"] {
        schedule(&client, account, "2099-12-03T00:00:00Z").await;
    }
    let due = |date: &str| format!("/bank/payments/due?date={date}");
    let range = |from: &str, to: &str| format!("/bank/accounts/A-1/payments?from={from}&to={to}");
    for (list, from, to) in [
        (due("2099-11-30"), 0, 2),
        (due("2099-12-01"), 2, 4),
        (due("2099-12-02"), 4, 6),
        (range("2099-11-30T22:30:00Z", "2099-12-02T00:30:00Z"), 0, 6),
        (range("2099-11-30T23:59:59Z", "2099-12-02T00:00:00Z"), 1, 5),
        (range("2099-12-01T00:00:00.000Z", "2099-12-01T00:00:00.000Z"), 2, 3),
        (range("2099-12-01T00:00:00.001Z", "2099-12-02T00:00:00.999Z"), 3, 5),
        (range("2099-12-01T00:00:00.5Z", "2099-12-01T00:00:00.9Z"), 3, 3),
        (range("2099-12-01T02:00:00%2B02:00", "2099-12-01T20:29:59-03:30"), 2, 4),
        // A date is a whole day. A bound that cannot be stored is no limit, or has nothing behind
        // it.
        (range("2099-12-01", "2099-12-01"), 2, 4),
        (range("2099-11-30", "2099-12-01T23:59:59Z"), 0, 4),
        (range("0000-01-01T00:00:00%2B23:59", "9999-12-31"), 0, 6),
        (range("9999-12-31", "9999-12-31"), 6, 6),
    ] {
        let wanted: Vec<_> = rows[from..to].iter().map(|(_, answered)| *answered).collect();
        for limit in [1, 50] {
            let (items, _) = client.all(&format!("{list}&limit={limit}")).await;
            assert_eq!(texts(&items, "scheduledTime"), wanted, "{list}");
        }
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

const STATUSES: [&str; 5] = ["SCHEDULED", "PENDING", "PROCESSED", "FAILED", "CANCELLED"];
const SETTLED: [&str; 3] = ["PROCESSED", "FAILED", "CANCELLED"];

/// In one second, more payments are due than fit on a page. Half of the payments are archived.
async fn pages_contain_every_item_once_in_time_order(projection: &str) {
    let (stack, client) = stack_with(projection).await;
    let one = |number: usize| {
        let time = format!("2099-12-01T09:{:02}:00Z", if number.is_multiple_of(3) { 30 } else { number });
        let status = if number.is_multiple_of(2) { Status::Processed } else { Status::Scheduled };
        payment(&format!("A-{}", number % 3), &time, status, number % 5)
    };
    put(&stack, &(0..60).map(one).collect::<Vec<_>>()).await;
    assert_eq!(archive(&client, "2099-12-01").await, 30);
    for (list, count) in [
        (format!("/bank/accounts/A-0/payments?{DAYS}"), 10),
        ("/bank/payments/due?date=2099-12-01".to_owned(), 30),
        ("/bank/accounts/A-0/transactions?".to_owned(), 10),
        ("/bank/transactions?date=2099-12-01".to_owned(), 30),
    ] {
        let (whole, _) = client.all(&format!("{list}&limit=100")).await;
        let keys: Vec<_> = whole.iter().map(|item| (text(item, "scheduledTime"), text(item, "paymentId"))).collect();
        assert!(keys.len() == count && keys.is_sorted_by(|one, other| one < other), "{list}: {keys:?}");
        for limit in [1, 7] {
            let (items, pages) = client.all(&format!("{list}&limit={limit}")).await;
            assert_eq!(items, whole, "{list}, {limit}");
            assert!((count.div_ceil(limit)..=count / limit + 1).contains(&pages), "{list}, {limit}: {pages} pages");
        }
    }
    stack.stop().await;
}

async fn archived_payment_moves_to_the_transaction_lists(projection: &str) {
    let (stack, client) = stack_with(projection).await;
    let payments = some_of_each_status(&client, "A-1").await;
    let on_the_day = ["/bank/payments/due?date=2099-12-01".to_owned(), format!("/bank/accounts/A-1/payments?{DAYS}")];
    for (status, list) in STATUSES.into_iter().flat_map(|status| on_the_day.iter().map(move |list| (status, list))) {
        let wanted: Vec<_> = payments.iter().filter(|payment| payment["status"] == status).cloned().collect();
        for limit in [3, 100] {
            let (found, _) = client.all(&format!("{list}&status={status}&limit={limit}")).await;
            assert_eq!((found.len(), &found), (4, &wanted), "{list} {status}");
        }
    }
    assert_eq!(client.all(&on_the_day[0]).await.0.len(), 4, "SCHEDULED is the default");
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
