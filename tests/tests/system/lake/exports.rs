//! Converts exports in the documented format (DynamoDB Developer Guide, "DynamoDB table export
//! output format") on the local stack.

use flate2::{Compression, write::GzEncoder};
use local::Stack;
use serde_json::{Value, json};
use std::{fs, io::Write, path::Path};
use system_tests::{Client, stack};

const EXPORT: &str = "01795592594403-1f2e3d4c";

/// The manifest's summary and its only file.
struct Export {
    folder: String,
    file: Value,
}

impl Export {
    /// Writes an export of these items, with its manifest.
    fn write(stack: &Stack, table: &str, items: &[Value]) -> Self {
        let folder = format!("exports/AWSDynamoDB/{EXPORT}");
        let (bucket, key) =
            (stack.lake().join("local-lake-lake"), format!("{folder}/data/q5wnzxkmhe3vnfsbnqzjr5gq4u.json.gz"));
        fs::create_dir_all(bucket.join(&folder).join("data")).expect("a folder");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        for item in items {
            writeln!(gzip, "{}", json!({"Item": item})).expect("written");
        }
        fs::write(bucket.join(&key), gzip.finish().expect("gzip")).expect("written");
        let arn = format!("arn:aws:dynamodb:us-east-1:123456789012:table/{table}");
        let summary = json!({
            "version": "2020-06-30", "exportArn": format!("{arn}/export/{EXPORT}"), "startTime": "2026-12-01T02:00:00.028Z",
            "endTime": "2026-12-01T02:05:00.897Z", "tableArn": arn, "tableId": "12345a12-abcd-123a-ab12-1234abc12345",
            "exportTime": "2026-12-01T02:00:00.028Z", "s3Bucket": "local-lake-lake", "s3Prefix": "exports", "s3SseAlgorithm": "AES256",
            "s3SseKmsKeyId": null, "manifestFilesS3Key": format!("{folder}/manifest-files.json"), "billedSizeBytes": 0,
            "itemCount": items.len(), "outputFormat": "DYNAMODB_JSON", "exportType": "FULL_EXPORT",
        });
        fs::write(bucket.join(&folder).join("manifest-summary.json"), summary.to_string()).expect("written");
        let file = json!({"itemCount": items.len(), "md5Checksum": "sQMSpEILNgoQmarvDFonGQ==", "etag": "af83d6f217c19b8b0fff8023d8ca4716-1", "dataFileS3Key": key});
        Self { folder, file }
    }

    fn event(&self) -> Value {
        json!({"summary": format!("{}/manifest-summary.json", self.folder), "file": self.file})
    }
}

fn rows(stack: &Stack, table: &str) -> Vec<Value> {
    let folder = stack.lake().join("local-lake-lake/snapshots").join(table).join(format!("export={EXPORT}"));
    let files = fs::read_dir(&folder).into_iter().flatten().map(|file| file.expect("a file").path());
    let text: String = files.map(|file: std::path::PathBuf| text(&file)).collect();
    text.lines().map(|row| serde_json::from_str(row).expect("a row")).collect()
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).expect("text")
}

/// The new images of an event, each with the table of its stream.
fn images(event: &str) -> Vec<(String, Value)> {
    let event: Value = serde_json::from_str(event).expect("JSON");
    let records = event["Records"].as_array().expect("records").iter();
    let table = |record: &Value| {
        let arn = record["eventSourceARN"].as_str().expect("an ARN").to_owned();
        arn.split('/').nth(1).expect("a table").to_owned()
    };
    let images = records.map(|record| (table(record), record["dynamodb"]["NewImage"].clone()));
    images.filter(|(_, image)| image.is_object()).collect()
}

#[tokio::test]
async fn rows_of_an_export_equal_those_of_the_stream() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let events = [
        include_str!("../../../../events/lake/export-changes.json"),
        include_str!("../../../../events/lake/export-changes.orders.json"),
        include_str!("../../../../events/lake/export-changes.payments.json"),
        include_str!("../../../../events/lake/export-changes.ledger.json"),
    ];
    let images: Vec<_> = events.into_iter().flat_map(images).collect();
    for (table, folders) in [
        ("local-Cart", &["cart-items", "orders"][..]),
        ("local-PaymentScheduler", &["payments"]),
        ("local-TransactionHistory", &["archived-payments"]),
        ("local-FinancialTransactions", &["ledger-legs", "ledger-transactions"]),
    ] {
        let items: Vec<Value> = images.iter().filter(|(of, _)| of == table).map(|(_, image)| image.clone()).collect();
        let export = Export::write(&stack, table, &items);
        let first = client.invoke("convert-export", &export.event()).await.body;
        assert_eq!((&first["items"], &first["skipped"]), (&json!(items.len()), &json!(0)), "{table}: {first}");
        let converted: Vec<Value> = folders.iter().flat_map(|folder| rows(&stack, folder)).collect();
        assert_eq!(first["rows"], json!(converted.len()), "{table}");
        assert!(!converted.is_empty() && converted.len() <= items.len(), "{table}");
        for row in &converted {
            assert_eq!((&row["operation"], row.get("sequence_number")), (&json!("snapshot"), None), "{row}");
            assert_eq!(row["changed_at"], "2026-12-01 02:00:00.028", "{row}");
            assert!(row.as_object().expect("a row").keys().all(|name| !name.starts_with("old_")), "{row}");
        }
        let again = client.invoke("convert-export", &export.event()).await.body;
        assert_eq!(again, first, "{table}");
        let repeated: Vec<Value> = folders.iter().flat_map(|folder| rows(&stack, folder)).collect();
        assert_eq!(repeated, converted, "{table}: a repeated conversion writes the same objects");
    }
    stack.stop().await;
}

#[tokio::test]
async fn unreadable_items_are_counted_and_do_not_stop_the_others() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let good = images(include_str!("../../../../events/lake/export-changes.json")).swap_remove(0).1;
    let mut wrong = good.clone();
    wrong["Quantity"] = json!({"S": "many"});
    let items = [wrong, json!({"PK": {"S": "A"}, "SK": {"S": "odd"}}), json!(null), good];
    let export = Export::write(&stack, "local-Cart", &items);
    let answer = client.invoke("convert-export", &export.event()).await.body;
    assert_eq!(answer, json!({"items": 4, "rows": 1, "skipped": 3}));
    stack.stop().await;
}

#[tokio::test]
async fn rejects_exports_that_do_not_match_their_manifest() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let good = images(include_str!("../../../../events/lake/export-changes.json")).swap_remove(0).1;
    let export = Export::write(&stack, "local-Cart", &[good]);
    let (mut more, mut missing, mut odd) = (export.event(), export.event(), export.event());
    more["file"]["itemCount"] = json!(2);
    missing["file"]["dataFileS3Key"] = json!(format!("{}/data/none.json.gz", export.folder));
    odd["file"]["dataFileS3Key"] = json!(format!("{}/manifest-summary.json", export.folder));
    for (event, what) in [(more, "another number of items"), (missing, "no such file"), (odd, "no data file")] {
        let answer = client.invoke("convert-export", &event).await;
        assert!(answer.headers.contains_key("x-amz-function-error"), "{what}: {}", answer.body);
    }
    let damaged = stack.lake().join("local-lake-lake").join(export.file["dataFileS3Key"].as_str().expect("a key"));
    fs::write(damaged, "not gzip").expect("written");
    let answer = client.invoke("convert-export", &export.event()).await;
    assert!(answer.headers.contains_key("x-amz-function-error"), "damaged: {}", answer.body);
    stack.stop().await;
}

#[tokio::test]
async fn plan_merges_the_last_state_and_drops_older_ones() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let event = |states: &[&str]| json!({"items": "payments", "states": states, "at": "2026-12-01T02:00:00Z", "export": EXPORT, "exportedAt": "2026-12-01T02:00:00Z"});
    let first = client.invoke("plan-refresh", &event(&[])).await.body;
    let sql = |plan: &Value, name: &str| plan[name].as_str().expect("SQL").to_owned();
    assert!(sql(&first, "compact").contains("FROM payment_changes\n        WHERE hour >= '1970-01-01-00'"), "{first}");
    let names = ["payments_state_20261130t020000", "payments_state_20261128t020000", "payments_state_20261129t020000"];
    let later = client.invoke("plan-refresh", &event(&names)).await.body;
    assert_eq!(later["state"], "payments_state_20261201t020000");
    assert_eq!(later["unused"], json!([names[1], names[2]]), "the last state remains for queries that have started");
    for name in ["compact", "verify"] {
        let text = sql(&later, name);
        assert!(
            text.contains("FROM payments_state_20261130t020000") && text.contains("hour >= '2026-11-28-02'"),
            "{text}"
        );
    }
    let switch = sql(&later, "switch");
    assert!(switch.starts_with("CREATE OR REPLACE VIEW payments AS"), "{switch}");
    assert!(
        switch.contains("payments_state_20261201t020000") && switch.contains("hour >= '2026-11-29-02'"),
        "{switch}"
    );
    let again =
        client.invoke("plan-refresh", &event(&[&names[..], &["payments_state_20261201t020000"]].concat())).await;
    assert_eq!(again.body["compact"], later["compact"], "a repeated run does not merge its own state");
    for name in ["verify", "backfill", "compact", "switch"] {
        assert!(!sql(&later, name).contains('{'), "{}", sql(&later, name));
    }
    stack.stop().await;
}
