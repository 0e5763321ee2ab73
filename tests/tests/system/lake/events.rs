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

/// Outcome of an event: the delivered rows, and the objects in the failure bucket.
struct Outcome {
    rows: Vec<Value>,
    /// Rows as they were delivered, each with the name of its delivery stream.
    lines: Vec<(String, String)>,
    reasons: Vec<String>,
    keys: Vec<String>,
}

fn event(why: &str) -> Value {
    system_tests::events::event("export-changes", why)
}

async fn outcome(event: Value) -> Outcome {
    let stub = Stub::start(|_| Fault::None).await;
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

fn operations(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["operation"].as_str().expect("an operation")).collect()
}

#[tokio::test]
async fn exports_one_row_per_change() {
    let Outcome { rows, lines, reasons, .. } = outcome(event("")).await;
    assert_eq!(operations(&rows), ["insert", "modify", "move", "move", "remove", "modify", "move"]);
    assert!(reasons.is_empty());
    let item = "019b7e4b2a7b7c3a9b1f2e3d4c5b6a7";
    assert_eq!(
        lines[1].1,
        format!(
            r#"{{"event_id":"c4ca4238a0b923820dcc509a6f758402","operation":"modify","sequence_number":"4421584500000000017450439092","changed_at":"2026-01-02 10:31:40.000","account_id":"Account1","item_id":"{item}0","sku":"SKU-1","version":2,"added_at":"2026-01-02 10:30:00.123","status":"ACTIVE","status_changed_at":"2026-01-02 10:30:00.123","quantity":3,"price":"12.49","currency":"USD","expires_at":"2026-02-07 10:30:00.000","old_status":"ACTIVE","old_status_changed_at":"2026-01-02 10:30:00.123","old_quantity":1,"old_price":"12.49","old_currency":"USD","old_expires_at":"2026-02-07 10:30:00.000"}}"#
        )
    );
    assert_eq!(rows[0]["changed_at"], "2026-01-02 10:30:00.123");
    assert!(rows[0].get("old_status").is_none() && rows[0]["version"] == 1);
    assert_eq!(
        (&rows[2]["status"], &rows[2]["old_status"], &rows[2]["old_quantity"]),
        (&json!("SAVED"), &json!("ACTIVE"), &json!(3))
    );
    assert!(rows[2].get("expires_at").is_none() && rows[2].get("old_expires_at").is_none());
    assert_eq!((&rows[3]["order_id"], &rows[3]["price"]), (&json!("Order1"), &json!("12.49")));
    assert_eq!((&rows[6]["status"], &rows[6]["joined_to"]), (&json!("JOINED"), &json!(format!("{item}3"))));
}

#[tokio::test]
async fn remove_row_has_the_values_of_the_removed_item() {
    let rows = outcome(event("")).await.rows;
    let mut removed = rows[4].clone();
    for own in ["event_id", "sequence_number", "changed_at"] {
        removed.as_object_mut().expect("a row").remove(own);
    }
    assert_eq!(
        removed,
        json!({"operation": "remove", "account_id": "Account1", "item_id": "019b7e4b2a7b7c3a9b1f2e3d4c5b6a72", "sku": "SKU-3",
            "version": 5, "added_at": "2026-01-02 10:30:00.123", "old_status": "SAVED",
            "old_status_changed_at": "2026-01-02 10:30:00.123", "old_quantity": 2, "old_price": "12.49", "old_currency": "USD"})
    );
}

#[tokio::test]
async fn orders_and_their_items_are_exported_with_the_prices_of_the_checkout() {
    let Outcome { rows, reasons, .. } = outcome(event("orders")).await;
    assert_eq!((operations(&rows), reasons.len()), (vec!["move", "move", "insert", "modify"], 0));
    let [bought, sent, placed, shipped] = &rows[..] else { unreachable!("four rows") };
    assert_eq!(
        (&placed["order_id"], &placed["status"], &placed["total"]),
        (&bought["order_id"], &json!("PLACED"), &json!("37.47"))
    );
    assert_eq!(
        (&bought["price"], &bought["old_price"], bought.get("old_order_id")),
        (&json!("12.49"), &json!("11.99"), None)
    );
    assert_eq!(
        (&shipped["status"], &shipped["old_status"], &shipped["version"]),
        (&json!("SHIPPED"), &json!("PLACED"), &json!(2))
    );
    assert_eq!(
        (&sent["order_id"], &sent["old_order_id"], &sent["old_price"]),
        (&bought["order_id"], &bought["order_id"], &bought["price"])
    );
}

#[tokio::test]
async fn ttl_deletion_is_exported_as_an_expire_row() {
    let Outcome { rows, reasons, .. } = outcome(event("ttl")).await;
    assert_eq!((operations(&rows), reasons.len()), (vec!["expire"], 0), "removed and joined items have no expire row");
    let row = &rows[0];
    assert_eq!((&row["version"], &row["old_status"], &row["old_quantity"]), (&json!(8), &json!("ACTIVE"), &json!(2)));
    assert_eq!(row["old_expires_at"], "2026-02-07 10:30:00.000");
    assert!(row.get("status").is_none() && row["added_at"].is_string());
}

#[tokio::test]
async fn drops_records_without_a_change() {
    for why in ["no-change", "empty"] {
        let Outcome { rows, reasons, .. } = outcome(event(why)).await;
        assert_eq!((rows.len(), reasons.len()), (0, 0), "{why}");
    }
}

#[tokio::test]
async fn ignores_unknown_fields() {
    let Outcome { rows, reasons, .. } = outcome(event("unknown-fields")).await;
    assert_eq!((operations(&rows), reasons.len()), (vec!["insert", "insert"], 0));
    assert_eq!(rows[0]["changed_at"], "2026-01-02 10:30:00.500");
    assert!(rows[1].get("changed_at").is_none(), "a record without a time");
}

#[tokio::test]
async fn repair_of_an_unreadable_item_is_a_row_without_old_values() {
    let mut batch = event("");
    let records = batch["Records"].as_array_mut().expect("records");
    let repair = records.iter_mut().find(|record| record["eventName"] == "MODIFY").expect("a change");
    repair["dynamodb"]["OldImage"].as_object_mut().expect("an image").remove("AddedAt");
    let id = repair["eventID"].clone();
    let Outcome { rows, reasons, .. } = outcome(batch).await;
    let row = rows.iter().find(|row| row["event_id"] == id).expect("the row of the repair");
    assert_eq!((&row["operation"], row.get("old_quantity"), reasons.len()), (&json!("modify"), None, 0), "{row}");
    assert!(row["quantity"].is_number() && row["version"].is_number(), "{row}");
}

#[tokio::test]
async fn stores_unreadable_records_with_the_reason() {
    let Outcome { rows, reasons, keys, .. } = outcome(event("keys-only")).await;
    assert_eq!((rows.len(), reasons.len()), (0, 3));
    assert!(reasons.iter().all(|reason| reason.contains("NEW_AND_OLD_IMAGES")), "{reasons:?}");
    assert!(keys[0].starts_with("failures/unsendable/2026/01/02/"), "{keys:?}");

    let Outcome { rows, reasons, keys, .. } = outcome(event("another-table")).await;
    assert_eq!((rows.len(), reasons.len()), (0, 3), "{reasons:?}");
    assert_eq!(keys[0], "failures/unsendable/2015/04/09/c4ca4238a0b923820dcc509a6f75849b.json");

    let Outcome { rows, reasons, .. } = outcome(event("unreadable")).await;
    assert_eq!(rows.len(), 0);
    for part in
        ["NewImage is not a CartItem", "not a stream record", "without `Previous`", "decimal(20,4)", "without a type"]
    {
        assert_eq!(reasons.iter().filter(|reason| reason.contains(part)).count(), 1, "{part}: {reasons:?}");
    }
}

#[tokio::test]
async fn rejects_an_event_that_is_not_a_batch() {
    let stub = Stub::start(|_| Fault::None).await;
    let invocation = invoke(&service(&stub), event("no-batch"), Duration::from_mins(1)).await;
    assert_eq!(invocation.answer.expect_err("an error").error_type, "invalid-request");
}

#[tokio::test]
async fn rows_have_the_columns_of_their_table_in_order() {
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for why in ["", "ttl", "unknown-fields", "orders", "payments", "ledger"] {
        for (stream, line) in outcome(event(why)).await.lines {
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
