//! Checks of a request before routing.
use http::request::Parts;

const LARGEST_HEAD: usize = 10_240;

/// Whether the request line and the headers exceed the limit of API Gateway (10,240 bytes).
pub(crate) fn has_too_large_head(parts: &Parts) -> bool {
    let line = parts.method.as_str().len()
        + parts.uri.path_and_query().map_or(0, |path| path.as_str().len())
        + "  HTTP/1.1\r\n".len();
    let headers: usize =
        parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum();
    line + headers > LARGEST_HEAD
}
