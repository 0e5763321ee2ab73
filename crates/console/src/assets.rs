//! The files of the page, which are part of the binary.
use axum::{body::Body, response::Response};
use http::{HeaderValue, header};

macro_rules! assets {
    ($($name:literal, $kind:literal;)*) => {
        const ASSETS: &[(&str, &str, &[u8])] =
            &[$(($name, $kind, include_bytes!(concat!("../page/", $name)))),*];
    };
}

assets! {
    "index.html", "text/html; charset=utf-8";
    "console.css", "text/css; charset=utf-8";
    "console.js", "text/javascript; charset=utf-8";
    "docs.js", "text/javascript; charset=utf-8";
    "events.js", "text/javascript; charset=utf-8";
    "form.js", "text/javascript; charset=utf-8";
    "heat.js", "text/javascript; charset=utf-8";
    "home.js", "text/javascript; charset=utf-8";
    "jobs.js", "text/javascript; charset=utf-8";
    "lib.js", "text/javascript; charset=utf-8";
    "model.js", "text/javascript; charset=utf-8";
    "tables.js", "text/javascript; charset=utf-8";
    "trace.js", "text/javascript; charset=utf-8";
    "try.js", "text/javascript; charset=utf-8";
    "vendor/preact.js", "text/javascript; charset=utf-8";
    "vendor/hooks.js", "text/javascript; charset=utf-8";
    "vendor/htm.js", "text/javascript; charset=utf-8";
    "vendor/uPlot.js", "text/javascript; charset=utf-8";
    "vendor/uPlot.css", "text/css; charset=utf-8";
}

/// The page loads and sends nothing outside of its own address.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Returns a file of the page. The empty name is the page itself.
pub(super) fn asset(name: &str) -> Option<Response> {
    let name = if name.is_empty() { "index.html" } else { name };
    let (_, kind, content) = ASSETS.iter().find(|(known, ..)| *known == name)?;
    let mut response = Response::new(Body::from(*content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Some(response)
}

/// Returns a report page. It may contain styles and scripts of its own, but loads and sends
/// nothing.
pub(super) fn report(content: Vec<u8>) -> Response {
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
        frame-ancestors 'none'";
    let mut response = Response::new(Body::from(content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_at_most_150_kb() {
        let size: usize = ASSETS.iter().map(|(.., content)| content.len()).sum();
        assert!(size <= 150_000, "{size}");
    }
}
