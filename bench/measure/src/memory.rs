//! Measures the memory of the exporter's binary for batches of increasing size, up to the maximum
//! size of a Lambda event.

use crate::calls::count;
use serde_json::{Value, json};
use std::fs;
use system_tests::{
    emulator::Place,
    root,
    runtime::{Runtime, command, log_lines},
    stack,
};

const FUNCTION: &str = "export-changes";
const EVENT: &str = "events/lake/export-changes.json";
const CHANGES: [usize; 5] = [1, 100, 1_000, 2_000, 10_000];
/// Maximum size of an event (Lambda quota: 6 MB). A batch therefore has fewer than 10,000 changes,
/// although an event source mapping allows a batch size of 10,000.
const MAX_BYTES: usize = 6_000_000;
/// Number of times that one process exports the largest batch.
const AGAIN: usize = 20;

/// Measures the memory of this binary.
pub(crate) async fn measure(binary: &str) -> Value {
    let mut batches = Vec::new();
    for changes in CHANGES {
        batches.push(batch(binary, changes, 1).await);
    }
    let again = batch(binary, CHANGES[CHANGES.len() - 1], AGAIN).await;
    json!({"batches": batches, "again": again})
}

/// Starts a process, and sends the same batch to it `times` times.
async fn batch(binary: &str, changes: usize, times: usize) -> Value {
    let stack = stack().start().await.expect("a stack");
    let place = Place::of(&stack, FUNCTION);
    let mut runtime = Runtime::start().await;
    let environment: Vec<_> = place.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let child = command(binary, FUNCTION, &runtime.address, &environment).spawn().expect("the binary");
    let (event, changes) = event(changes);
    for _ in 0..times {
        let answer = runtime.invoke(event.clone()).await;
        assert_eq!(answer, ("response", json!({"batchItemFailures": []})));
    }
    let peak = peak(child.id().expect("it runs"));
    let log = log_lines(child).await;
    let exported = log.iter().find(|line| line["fields"]["message"] == "exported").expect("a line of its own");
    let told = |name: &str| exported["fields"][name].clone();
    stack.stop().await;
    json!({
        "changes": changes, "event": event.len(), "times": times, "peak": peak, "memory": place.memory,
        "calls": told("calls"), "bytes": told("bytes"), "billed": told("billed"),
    })
}

/// Builds an event with this number of cart changes, or with as many as fit. Returns the event and
/// its number of changes.
fn event(changes: usize) -> (String, u64) {
    let text = fs::read_to_string(root().join(EVENT)).expect("an event");
    let event: Value = serde_json::from_str(&text).expect("JSON");
    let mut change = event["Records"][1].clone();
    let mut records = Vec::new();
    let mut bytes = 0;
    for number in 0..changes {
        change["eventID"] = format!("{number:032x}").into();
        change["dynamodb"]["SequenceNumber"] = format!("{:028}", number + 1).into();
        let record = change.to_string();
        bytes += record.len() + 1;
        if bytes + 100 > MAX_BYTES {
            break;
        }
        records.push(record);
    }
    (format!(r#"{{"Records":[{}]}}"#, records.join(",")), count(records.len()))
}

/// Returns the peak memory of the process in KB.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
