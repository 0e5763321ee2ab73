//! Response header with the consumed units of an invocation.
use std::fmt::Write;

use http::HeaderValue;
use serde_json::{Value, json};
use table::{Call, Units, Usage};

/// Name of the header with the consumed units.
pub const CONSUMED: &str = "x-local-consumed";

/// Returns compact JSON with one row for each combination of action and table or index.
pub(crate) fn header(usage: &Usage) -> Option<HeaderValue> {
    let rows: Value = usage.calls.iter().map(row).collect();
    HeaderValue::from_str(&ascii(&rows.to_string())).ok()
}

fn row(call: &Call) -> Value {
    json!({
        "action": call.action,
        "table": call.table,
        "index": call.index,
        "condition": call.condition,
        "read": number(call.read),
        "write": number(call.write),
    })
}

fn number(units: Units) -> Value {
    serde_json::from_str(&units.to_string()).unwrap_or_default()
}

/// Replaces all characters except visible ASCII with JSON escapes, because header values must be
/// visible ASCII.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for unit in json.chars() {
        if (' '..='~').contains(&unit) {
            out.push(unit);
        } else {
            for half in unit.encode_utf16(&mut [0; 2]) {
                // Writing to a String can't fail.
                let _ = write!(out, "\\u{half:04x}");
            }
        }
    }
    out
}
