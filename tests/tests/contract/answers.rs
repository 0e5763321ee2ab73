//! Every response of a driver is one that docs/openapi.yaml describes.

use crate::stage::Ask;
use system_tests::{Answer, openapi::Allowed};

/// The differences between a response and the document. The gateway's own responses have no
/// description.
pub(crate) fn faults(ask: &Ask, answer: &Answer) -> Vec<String> {
    let is_of_gateway = answer.body["type"].is_null() && matches!(answer.status, 400..);
    if is_of_gateway {
        return Vec::new();
    }
    let kind = answer.headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let (method, path) = ask.route.split_once(' ').expect("a route");
    Allowed::get().faults(method, path, answer.status.into(), kind, &answer.body)
}
