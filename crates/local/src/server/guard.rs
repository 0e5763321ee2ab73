//! Checks that a request comes from a program on this machine and not from a foreign web page.
use http::{HeaderMap, HeaderValue, Uri, header, request::Parts};

use super::Refusal;

const FETCH_SITE: &str = "sec-fetch-site";

/// Web pages that may send requests to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origins {
    /// Pages that this machine serves.
    Loopback,
    None,
}

/// Checks the host and the origin. With DNS rebinding, a page can call 127.0.0.1 under the page's
/// host name; the host reveals this. A page can also post a form; the header `Origin` reveals this.
/// Sets the header `Host` if an HTTP/2 request names its host only in `:authority`.
pub(super) fn check(parts: &mut Parts, origins: Origins) -> Result<(), Refusal> {
    let host = host(parts)?;
    if !host.to_str().is_ok_and(is_loopback) {
        return Err(Refusal::Foreign("The Host must be 127.0.0.1, [::1] or localhost, with a port."));
    }
    if !allows(origins, &parts.headers) {
        return Err(Refusal::Foreign("Web pages may not send requests to this port."));
    }
    parts.headers.insert(header::HOST, host);
    Ok(())
}

/// The host that all parts of the request agree on.
fn host(parts: &Parts) -> Result<HeaderValue, Refusal> {
    let authority = parts.uri.authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    let authority = authority.transpose().map_err(|_| Refusal::Malformed("The host is not valid."))?;
    let mut hosts = parts.headers.get_all(header::HOST).iter().cloned().chain(authority);
    let host = hosts.next().ok_or(Refusal::Malformed("The header Host is missing."))?;
    if hosts.any(|other| other != host) || parts.headers.get_all(header::HOST).iter().count() > 1 {
        return Err(Refusal::Malformed("The request has more than one Host."));
    }
    Ok(host)
}

fn allows(origins: Origins, headers: &HeaderMap) -> bool {
    // Browsers set this header for images and links as well, which have no `Origin`.
    let is_foreign = headers.get(FETCH_SITE).is_some_and(|site| site == "cross-site");
    let mut all = headers.get_all(header::ORIGIN).iter();
    !is_foreign
        && match origins {
            Origins::Loopback => all.all(is_loopback_origin),
            Origins::None => all.next().is_none(),
        }
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

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn checked(uri: &str, headers: &[(&str, &str)], origins: Origins) -> Result<HeaderValue, Refusal> {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut parts = request.body(()).unwrap().into_parts().0;
        check(&mut parts, origins).map(|()| parts.headers[header::HOST].clone())
    }

    #[test]
    fn accepts_only_loopback_hosts() {
        for host in ["127.0.0.1", "127.0.0.1:3000", "localhost:1", "LOCALHOST", "[::1]:3000", "[::1]"] {
            assert_eq!(checked("/", &[("host", host)], Origins::None).unwrap(), host);
        }
        for host in [
            "example.com",
            "127.0.0.1.example.com",
            "localhost.example.com:3000",
            "",
            "127.0.0.1:",
            "127.0.0.1:65536",
            "127.0.0.1:3000,127.0.0.1:3000",
            "user@localhost",
            "10.0.0.1",
            "::1",
        ] {
            let refused = checked("/", &[("host", host)], Origins::Loopback);
            assert!(matches!(refused, Err(Refusal::Foreign(_))), "{host}");
        }
    }

    #[test]
    fn accepts_one_host_per_request() {
        assert_eq!(checked("http://localhost:1/", &[], Origins::None).unwrap(), "localhost:1");
        assert!(checked("http://localhost:1/", &[("host", "localhost:1")], Origins::None).is_ok());
        for (uri, headers) in [
            ("/", &[][..]),
            ("/", &[("host", "localhost"), ("host", "localhost")]),
            ("/", &[("host", "localhost"), ("host", "example.com")]),
            ("http://example.com/", &[("host", "localhost")]),
        ] {
            assert!(matches!(checked(uri, headers, Origins::None), Err(Refusal::Malformed(_))), "{uri} {headers:?}");
        }
    }

    #[test]
    fn rejects_foreign_pages() {
        let from = |name, value, origins| checked("/", &[("host", "127.0.0.1:3000"), (name, value)], origins).is_ok();
        assert!(from("origin", "http://localhost:5173", Origins::Loopback));
        assert!(!from("origin", "http://localhost:5173", Origins::None));
        for origins in [Origins::Loopback, Origins::None] {
            assert!(!from("origin", "https://example.com", origins));
            assert!(!from("origin", "null", origins));
            assert!(!from("sec-fetch-site", "cross-site", origins));
            assert!(from("sec-fetch-site", "none", origins));
        }
    }
}
