//! Runs the binary of the exporter against an emulated Lambda Runtime API.

use super::stub::{Fault, Stub};
use serde_json::{Value, json};
use system_tests::{
    emulator::binary,
    events::event,
    runtime::{self, Runtime, log_lines},
};
use tokio::process::Command;

const FUNCTION: &str = "export-changes";

fn lambda(address: &str, stub: &str) -> Command {
    let environment = [
        ("AWS_ENDPOINT_URL_FIREHOSE", stub),
        ("AWS_ENDPOINT_URL_S3", stub),
        ("DELIVERY_PREFIX", "local-"),
        ("FAILURE_BUCKET", "failures"),
        ("LAKE_BUCKET", "lake"),
        ("ACCOUNT_TOKEN_KEY", ""),
    ];
    runtime::command(binary(FUNCTION), FUNCTION, address, &environment)
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn binary_exports_changes_and_does_not_log_their_content() {
    let stub = Stub::start(|call| if call.number == 1 { Fault::Throttled } else { Fault::None }).await;
    let mut runtime = Runtime::start().await;
    let child = lambda(&runtime.address, &stub.url).spawn().expect("a Lambda");
    let done = json!({"batchItemFailures": []});
    assert_eq!(runtime.invoke(event(FUNCTION, "").to_string()).await, ("response", done.clone()));
    assert_eq!(runtime.invoke("{\"no\": \"event\"}".to_owned()).await.0, "error");
    assert_eq!(runtime.invoke(event(FUNCTION, "unreadable").to_string()).await, ("response", done));
    let (rows, objects) = {
        let taken = stub.taken();
        (taken.rows().len(), taken.objects.len())
    };
    assert_eq!((rows, objects), (7, 5));

    let mut log = log_lines(child).await;
    let ages: Vec<&Value> = log.iter().filter(|line| line["StreamAgeMs"].as_f64() > Some(0.0)).collect();
    assert_eq!(ages[0]["_aws"]["CloudWatchMetrics"][0]["Namespace"], "local/service", "the alarms use this namespace");
    // Latencies and ages are not searched, because they may contain the digits of a price by
    // chance.
    for line in log.iter_mut().filter_map(Value::as_object_mut) {
        line.retain(|name, _| !["LatencyMs", "StreamAgeMs"].contains(&name.as_str()));
    }
    let text = serde_json::to_string(&log).expect("JSON");
    let exported: Vec<&Value> = log.iter().filter(|line| line["fields"]["message"] == "exported").collect();
    let counts = &exported[0]["fields"];
    assert_eq!(
        (&counts["exported"], &counts["moved_away"], &counts["calls"]),
        (&json!(7), &json!(4), &json!(2)),
        "{text}"
    );
    assert_eq!((&counts["retries"], &counts["billed"]), (&json!(1), &json!(5_120)), "{text}");
    assert_eq!(exported[1]["fields"]["unsendable"], json!(5), "{text}");
    for metric in ["ChangesExported", "ChangesUnsendable", "BilledBytes", "ChangesDropped"] {
        let is_there = |line: &Value| line.get(metric).is_some() && line["Function"] == FUNCTION;
        assert!(log.iter().any(is_there), "{metric}: {text}");
    }
    for secret in ["Account1", "SKU-1", "12.49"] {
        assert!(!text.contains(secret), "the log contains {secret}: {text}");
    }
    assert!(!text.contains("not JSON"), "{text}");
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn binary_logs_missing_and_invalid_settings_and_exits() {
    let mut lambda = lambda("127.0.0.1:9", "http://127.0.0.1:9");
    let output = lambda.env_remove("DELIVERY_PREFIX").env("ACCOUNT_TOKEN_KEY", "too short a key").output();
    let output = output.await.expect("an output");
    assert!(!output.status.success());
    let line: Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
    let why = line["fields"]["why"].to_string();
    assert!(why.contains("DELIVERY_PREFIX is missing") && why.contains("ACCOUNT_TOKEN_KEY"), "{line}");
    assert!(!line.to_string().contains("too short a key"), "the log must not contain the key");
}
