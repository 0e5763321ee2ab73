//! Checks of a request before routing.
use http::request::Parts;
use percent_encoding::percent_decode_str;

/// Returns the part of the request that is not UTF-8. The event is JSON text, so different bytes would
/// become the same text in it.
pub(crate) fn broken_text(parts: &Parts) -> Option<String> {
    let is_text = |encoded: &str| percent_decode_str(encoded).decode_utf8().is_ok();
    if !is_text(parts.uri.path()) {
        return Some("path".to_owned());
    }
    if !is_text(parts.uri.query().unwrap_or_default()) {
        return Some("query string".to_owned());
    }
    let broken = parts.headers.iter().find(|(_, value)| str::from_utf8(value.as_bytes()).is_err());
    broken.map(|(name, _)| format!("header {name}"))
}
