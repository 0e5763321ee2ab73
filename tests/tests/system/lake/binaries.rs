//! Runs the binary of the exporter against an emulated Lambda Runtime API.

use super::stack::rows;
use serde_json::{Value, json};
use system_tests::{
    emulator::{Place, binary},
    events::event,
    runtime::{self, Runtime, log_lines},
    stack,
};

const FUNCTION: &str = "export-changes";

#[tokio::test]
#[ignore = "make test-lambda"]
async fn binary_exports_changes_and_does_not_log_their_content() {
    let stack = stack().start().await.expect("a stack");
    let mut runtime = Runtime::start().await;
    let settings = Place::of(&stack, FUNCTION).settings;
    let settings: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let child = runtime::command(binary(FUNCTION), FUNCTION, &runtime.address, &settings).spawn().expect("a Lambda");
    let done = json!({"batchItemFailures": []});
    assert_eq!(runtime.invoke(event(FUNCTION, "").to_string()).await, ("response", done.clone()));
    assert_eq!(runtime.invoke("{\"no\": \"event\"}".to_owned()).await.0, "error");
    assert_eq!(runtime.invoke(event(FUNCTION, "unreadable").to_string()).await, ("response", done));
    assert_eq!(rows(stack.lake(), "cart-items").len(), 7);

    let mut log = log_lines(child).await;
    let age = log.iter().find(|line| line["StreamAgeMs"].as_f64() > Some(0.0)).expect("the age of a record");
    assert_eq!(age["_aws"]["CloudWatchMetrics"][0]["Namespace"], "local/lake", "the alarms use this namespace");
    // Latencies and ages are not searched, because they may contain the digits of a price by
    // chance.
    for line in log.iter_mut().filter_map(Value::as_object_mut) {
        line.retain(|name, _| !["LatencyMs", "StreamAgeMs"].contains(&name.as_str()));
    }
    let text = serde_json::to_string(&log).expect("JSON");
    let exported = log.iter().map(|line| &line["fields"]).filter(|fields| fields["message"] == "exported");
    let exported: Vec<_> = exported.collect();
    let counts = ["exported", "moved_away", "calls", "billed"].map(|name| exported[0][name].as_u64());
    assert_eq!(counts, [Some(7), Some(4), Some(1), Some(5_120)], "{text}");
    assert_eq!(exported[1]["unsendable"], json!(5), "{text}");
    for metric in ["ChangesExported", "ChangesUnsendable", "BilledBytes", "ChangesDropped"] {
        let is_there = |line: &Value| line.get(metric).is_some() && line["Function"] == FUNCTION;
        assert!(log.iter().any(is_there), "{metric}: {text}");
    }
    for secret in ["Account1", "SKU-1", "12.49", "not JSON"] {
        assert!(!text.contains(secret), "the log contains {secret}: {text}");
    }
    stack.stop().await;
}
