//! Checks the outcome of every event in `events/lake`.

use super::{
    driver::{invoke, lowest_failure, service},
    stub::{Fault, Stub},
};
use lake::{Kind, SCHEMAS};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use system_tests::{events::event, texts};

/// Outcome of an event: the delivered rows, and the objects in the failure bucket.
struct Outcome {
    rows: Vec<Value>,
    /// Rows as they were delivered, each with the name of its delivery stream.
    lines: Vec<(String, String)>,
    reasons: Vec<String>,
    keys: Vec<String>,
}

async fn outcome(event: Value) -> Outcome {
    let stub = Stub::new(|_| Fault::None);
    let invocation = invoke(&service(&stub), event, Duration::from_mins(1)).await;
    assert_eq!(lowest_failure(invocation), None);
    let taken = stub.taken();
    Outcome {
        rows: taken.rows(),
        lines: taken.lines(),
        reasons: taken.objects.values().map(|object| object["reason"].to_string()).collect(),
        keys: taken.objects.keys().cloned().collect(),
    }
}

/// The rows of an event whose records are all readable, and their operations.
async fn exported(why: &str) -> (Vec<Value>, String) {
    let Outcome { rows, reasons, .. } = outcome(event("export-changes", why)).await;
    assert!(reasons.is_empty(), "{reasons:?}");
    let operations = texts(&rows, "operation").join(" ");
    (rows, operations)
}

/// Checks members of a row. `null` means that the row omits it.
fn assert_has(row: &Value, members: &Value) {
    for (name, value) in members.as_object().expect("an object") {
        assert_eq!(row.get(name).unwrap_or(&Value::Null), value, "{name} of {row}");
    }
}

#[tokio::test]
async fn exports_one_row_per_change() {
    let (rows, operations) = exported("").await;
    assert_eq!(operations, "insert modify move move remove modify move");
    let item = "019b7e4b2a7b7c3a9b1f2e3d4c5b6a7";
    let lines = outcome(event("export-changes", "")).await.lines;
    assert_eq!(
        lines[1].1,
        format!(
            r#"{{"event_id":"c4ca4238a0b923820dcc509a6f758402","operation":"modify","sequence_number":"4421584500000000017450439092","changed_at":"2026-01-02 10:31:40.000","account_id":"Account1","item_id":"{item}0","sku":"SKU-1","version":2,"added_at":"2026-01-02 10:30:00.123","status":"ACTIVE","status_changed_at":"2026-01-02 10:30:00.123","quantity":3,"price":"12.49","currency":"USD","expires_at":"2026-02-07 10:30:00.000","old_status":"ACTIVE","old_status_changed_at":"2026-01-02 10:30:00.123","old_quantity":1,"old_price":"12.49","old_currency":"USD","old_expires_at":"2026-02-07 10:30:00.000"}}"#
        )
    );
    assert_has(&rows[0], &json!({"changed_at": "2026-01-02 10:30:00.123", "version": 1, "old_status": null}));
    let moved = json!({"status": "SAVED", "old_status": "ACTIVE", "old_quantity": 3, "expires_at": null, "old_expires_at": null});
    assert_has(&rows[2], &moved);
    assert_has(&rows[3], &json!({"order_id": "Order1", "price": "12.49"}));
    assert_has(&rows[6], &json!({"status": "JOINED", "joined_to": format!("{item}3")}));
    // A removal has the values of the removed item.
    let mut removed = rows[4].clone();
    for own in ["event_id", "sequence_number", "changed_at"] {
        removed.as_object_mut().expect("a row").remove(own);
    }
    assert_eq!(
        removed,
        json!({"operation": "remove", "account_id": "Account1", "item_id": format!("{item}2"), "sku": "SKU-3",
            "version": 5, "added_at": "2026-01-02 10:30:00.123", "old_status": "SAVED",
            "old_status_changed_at": "2026-01-02 10:30:00.123", "old_quantity": 2, "old_price": "12.49", "old_currency": "USD"})
    );
}

#[tokio::test]
async fn orders_and_their_items_are_exported_with_the_prices_of_the_checkout() {
    let (rows, operations) = exported("orders").await;
    assert_eq!(operations, "move move insert modify");
    let order = &rows[0]["order_id"];
    assert!(order.is_string());
    for (row, wanted) in rows.iter().zip([
        json!({"price": "12.49", "old_price": "11.99", "old_order_id": null}),
        json!({"order_id": order, "old_order_id": order, "old_price": "12.49"}),
        json!({"order_id": order, "status": "PLACED", "total": "37.47", "changed_by": "erin"}),
        json!({"status": "SHIPPED", "old_status": "PLACED", "version": 2, "changed_by": "ann"}),
    ]) {
        assert_has(row, &wanted);
    }
}

/// The export drops the TTL deletion of a removed or joined item, and a record without a change.
#[tokio::test]
async fn a_ttl_deletion_is_an_expire_row_and_no_change_is_no_row() {
    let (rows, operations) = exported("ttl").await;
    assert_eq!(operations, "expire");
    assert_has(&rows[0], &json!({"version": 8, "old_status": "ACTIVE", "old_quantity": 2, "status": null}));
    assert_has(&rows[0], &json!({"old_expires_at": "2026-02-07 10:30:00.000", "added_at": "2026-01-02 10:30:00.123"}));
    for why in ["no-change", "empty"] {
        assert_eq!(exported(why).await.1, "", "{why}");
    }
}

#[tokio::test]
async fn ignores_unknown_fields() {
    let (rows, operations) = exported("unknown-fields").await;
    assert_eq!(operations, "insert insert");
    assert_has(&rows[0], &json!({"changed_at": "2026-01-02 10:30:00.500"}));
    // A record without a time.
    assert_has(&rows[1], &json!({"changed_at": null}));
}

#[tokio::test]
async fn repair_of_an_unreadable_item_is_a_row_without_old_values() {
    let mut batch = event("export-changes", "");
    let repair = &mut batch["Records"][1];
    repair["dynamodb"]["OldImage"].as_object_mut().expect("an image").remove("AddedAt");
    let Outcome { rows, reasons, .. } = outcome(batch).await;
    assert_has(&rows[1], &json!({"operation": "modify", "old_quantity": null, "quantity": 3, "version": 2}));
    assert!(reasons.is_empty(), "{reasons:?}");
}

/// The reasons of the event with unreadable records.
const UNREADABLE: [&str; 5] =
    ["NewImage is not a CartItem", "not a stream record", "without `Previous`", "decimal(20,4)", "without a type"];

#[tokio::test]
async fn stores_unreadable_records_with_the_reason() {
    for (why, key, parts) in [
        ("keys-only", "failures/unsendable/2026/01/02/", &["NEW_AND_OLD_IMAGES"; 3][..]),
        ("another-table", "failures/unsendable/2015/04/09/c4ca4238a0b923820dcc509a6f75849b.json", &[""; 3]),
        ("unreadable", "failures/unsendable/", &UNREADABLE),
    ] {
        let Outcome { rows, reasons, keys, .. } = outcome(event("export-changes", why)).await;
        assert_eq!((rows.len(), reasons.len()), (0, parts.len()), "{reasons:?}");
        assert!(keys[0].starts_with(key), "{keys:?}");
        for part in parts {
            let (has, wanted) = (|reason: &&String| reason.contains(part), parts.iter().filter(|other| *other == part));
            assert_eq!(reasons.iter().filter(has).count(), wanted.count(), "{part}: {reasons:?}");
        }
    }
}

/// An object has the id of its event, so a repeated event overwrites it. An id that is no safe name
/// is replaced by a hash of the record.
#[tokio::test]
async fn an_object_of_a_change_with_an_odd_event_id_has_a_hash_as_its_name() {
    let mut batch = event("export-changes", "another-table");
    for (record, odd) in
        batch["Records"].as_array_mut().expect("records").iter_mut().zip([json!("../x"), json!(""), json!(1)])
    {
        record["eventID"] = odd;
    }
    let first = outcome(batch.clone()).await.keys;
    let lengths: Vec<_> =
        first.iter().map(|key| key.rsplit('/').next().expect("a name").len() - ".json".len()).collect();
    assert_eq!(lengths, [43; 3], "{first:?}");
    assert_eq!(outcome(batch).await.keys, first);
}

/// A row of a payment with its amount, its currency and its accounts. `null` means that the row
/// omits it.
#[tokio::test]
async fn rows_of_payments_have_the_valid_members_of_the_data() {
    let mut batch = event("export-changes", "payments");
    batch["Records"].as_array_mut().expect("records").truncate(1);
    for (data, amount, currency, credit) in [
        (r#"{"amount": 12.5, "currency": "USD", "creditAccountId": "B", "note": [1]}"#, "12.5", "USD", "B"),
        (r#"{"amount": " 5.00 ", "currency": "USD "}"#, "5.00", "USD", ""),
        (r#"{"amount": "9999999999999999.99"}"#, "9999999999999999.99", "", ""),
        (r#"{"amount": "10000000000000000"}"#, "", "", ""),
        (r#"{"amount": "0.00001"}"#, "", "", ""),
        (r#"{"amount": "x", "currency": 1, "creditAccountId": {}}"#, "", "", ""),
        (r#"{"amount": 1e30}"#, "", "", ""),
        (r#"{"amount": "-5"}"#, "", "", ""),
        ("[]", "", "", ""),
        ("1", "", "", ""),
        ("{}", "", "", ""),
    ] {
        batch["Records"][0]["dynamodb"]["NewImage"]["Data"]["S"] = data.into();
        let Outcome { rows, reasons, .. } = outcome(batch.clone()).await;
        assert_eq!((rows.len(), reasons.len()), (1, 0), "{data}: {reasons:?}");
        for (name, value) in
            [("amount", amount), ("currency", currency), ("credit_account_id", credit), ("debit_account_id", "")]
        {
            assert_eq!(rows[0][name].as_str().unwrap_or_default(), value, "{name} of {data}");
        }
    }
}

/// An expiry that is no time is omitted.
#[tokio::test]
async fn a_row_omits_an_expiry_that_is_no_time() {
    let mut batch = event("export-changes", "");
    batch["Records"].as_array_mut().expect("records").truncate(1);
    batch["Records"][0]["dynamodb"]["NewImage"]["ExpiresAt"]["N"] = i64::MAX.to_string().into();
    let Outcome { rows, reasons, .. } = outcome(batch).await;
    assert!(reasons.is_empty(), "{reasons:?}");
    assert_has(&rows[0], &json!({"operation": "insert", "quantity": 1, "expires_at": null}));
}

#[tokio::test]
async fn rows_have_the_columns_of_their_table_in_order() {
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for why in ["", "ttl", "unknown-fields", "orders", "payments", "ledger"] {
        for (stream, line) in outcome(event("export-changes", why)).await.lines {
            let schema = SCHEMAS.iter().find(|schema| format!("local-{}", schema.delivery()) == stream);
            let columns = schema.expect("a table of the stream").columns();
            let place = |name: &str| line.find(&format!("\"{name}\":"));
            let places: Vec<usize> = columns.iter().filter_map(|column| place(&column.name)).collect();
            assert!(places.is_sorted(), "{line}");
            let row: Value = serde_json::from_str(&line).expect("a row");
            assert_eq!(places.len(), row.as_object().expect("an object").len(), "the row has unknown columns: {line}");
            for column in columns.iter().filter(|column| place(&column.name).is_some()) {
                seen.entry(stream.clone()).or_default().insert(column.name.clone());
                let value = &row[&column.name];
                let fits = match column.kind {
                    Kind::Int | Kind::BigInt => value.is_i64(),
                    Kind::Boolean => value.is_boolean(),
                    Kind::Text | Kind::Amount | Kind::Time => value.is_string(),
                };
                assert!(fits, "{}: {line}", column.name);
            }
        }
    }
    let unseen: Vec<String> = SCHEMAS
        .iter()
        .flat_map(|schema| {
            let seen = seen.remove(&format!("local-{}", schema.delivery())).unwrap_or_default();
            let columns = schema.columns().into_iter().filter(move |column| !seen.contains(&column.name));
            columns.map(|column| format!("{}.{}", schema.changes, column.name))
        })
        .collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}
