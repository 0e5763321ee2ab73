//! Sample payments: the four payments of docs/requirements/bank.md#example-payments, with times in
//! the future.
use http::StatusCode;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use serde_json::json;

use super::{SampleError, expect};
use crate::client::{Call, Client};

/// Transaction id of the processed payment.
pub(crate) const TRANSACTION: &str = "sample-transaction-1";

struct Row {
    account: &'static str,
    /// Number of days after the first day of the sample.
    day: i64,
    time: &'static str,
    moves: &'static [&'static str],
}

const ROWS: [Row; 4] = [
    Row { account: "Account1", day: 1, time: "01:01:01", moves: &["PENDING"] },
    Row { account: "Account1", day: 2, time: "02:02:02", moves: &["PENDING"] },
    Row { account: "Account1", day: 0, time: "01:01:01", moves: &["PENDING", "PROCESSED"] },
    Row { account: "Account2", day: 0, time: "01:01:01", moves: &[] },
];

/// Returns the first day of the sample, which is tomorrow in UTC.
pub(crate) fn tomorrow() -> Date {
    day_after(Timestamp::now())
}

fn day_after(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date().saturating_add(1.day())
}

/// Schedules the missing payments. Returns the number of payments, including payments that a start
/// earlier today has created.
pub(super) async fn load(client: &Client, now: Timestamp) -> Result<usize, SampleError> {
    let (mut loaded, first) = (0, day_after(now));
    for (number, row) in ROWS.iter().enumerate() {
        loaded += usize::from(load_row(client, number + 1, first, row).await?);
    }
    Ok(loaded)
}

async fn load_row(client: &Client, number: usize, first: Date, row: &Row) -> Result<bool, SampleError> {
    let path = format!("/bank/accounts/{}/payments", row.account);
    let time = format!("{}T{}Z", first.saturating_add(row.day.days()), row.time);
    let body = json!({"scheduledTime": time, "data": "PaymentInfo Here"});
    let call = Call::post(&path, body).key(format!("sample-{number}"));
    let reply = client.send(&call).await?;
    // If the sample was loaded on another day, the idempotency key belongs to a request with a
    // different scheduled time.
    if reply.status == StatusCode::UNPROCESSABLE_ENTITY {
        return Ok(false);
    }
    let reply = expect(&call, reply, &[StatusCode::CREATED])?;
    let payment = reply.body["paymentId"].as_str().unwrap_or_default();
    for status in row.moves {
        let body = match *status {
            "PROCESSED" => json!({"status": status, "transactionId": TRANSACTION}),
            _ => json!({"status": status}),
        };
        let call = Call::patch(format!("{path}/{payment}"), body);
        let reply = client.send(&call).await?;
        // A payment from an earlier start already has this status, or is archived.
        expect(&call, reply, &[StatusCode::OK, StatusCode::CONFLICT, StatusCode::NOT_FOUND])?;
    }
    Ok(true)
}
