//! Checks of a request before routing.
use http::{HeaderMap, HeaderValue, Uri, header, request::Parts};

const LARGEST_HEAD: usize = 10_240;

/// Whether the request comes from this machine and not from a foreign web page. With DNS rebinding,
/// a page can call 127.0.0.1 under the page's host name; the `Host` header reveals this. A page can
/// also post a form to the gateway; the `Origin` header reveals this.
pub(crate) fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let origin = headers.get(header::ORIGIN);
    host.is_some_and(is_loopback) && origin.is_none_or(is_loopback_origin)
}

fn is_loopback_origin(origin: &HeaderValue) -> bool {
    let uri = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
    uri.and_then(|uri| uri.authority().map(|authority| is_loopback(authority.as_str()))).unwrap_or(false)
}

fn is_loopback(authority: &str) -> bool {
    let name = match authority.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => authority,
    };
    ["127.0.0.1", "[::1]"].contains(&name) || name.eq_ignore_ascii_case("localhost")
}

/// Whether the request line and the headers exceed the limit of API Gateway (10,240 bytes).
pub(crate) fn has_too_large_head(parts: &Parts) -> bool {
    let line = parts.method.as_str().len() + parts.uri.to_string().len() + "  HTTP/1.1\r\n".len();
    let headers: usize =
        parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum();
    line + headers > LARGEST_HEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_loopback_hosts() {
        for host in ["127.0.0.1", "127.0.0.1:3000", "localhost:1", "LOCALHOST", "[::1]:3000", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in
            ["example.com", "127.0.0.1.example.com", "localhost.example.com:3000", "", "127.0.0.1:", "10.0.0.1", "::1"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn rejects_foreign_origins() {
        let headers = |origin: &str| {
            HeaderMap::from_iter([
                (header::HOST, HeaderValue::from_static("127.0.0.1:3000")),
                (header::ORIGIN, HeaderValue::from_str(origin).unwrap()),
            ])
        };
        assert!(is_local(&headers("http://localhost:5173")));
        assert!(!is_local(&headers("https://example.com")));
        assert!(!is_local(&headers("null")));
        assert!(!is_local(&HeaderMap::new()));
    }
}
