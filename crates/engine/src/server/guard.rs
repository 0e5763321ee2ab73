//! Checks that a request comes from a program on this machine and not from a foreign web page.
use http::{HeaderMap, HeaderValue, Uri, header, request::Parts};

use super::Refusal;

const FETCH_SITE: &str = "sec-fetch-site";
/// Maximum size of the request line and the headers in bytes: the limit of API Gateway. All work on
/// a request before its token is checked is linear in this size (docs/decisions/local-security.md).
const MAX_HEAD: usize = 10_240;

/// Web pages that may send requests to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origins {
    /// Pages that this machine serves.
    Loopback,
    /// No pages.
    None,
}

/// Checks the host and the origin. With DNS rebinding, a page can call 127.0.0.1 under the page's
/// host name; the host reveals this. A page can also post a form; the header `Origin` reveals this.
/// `hosts` are allowed in addition to the loopback hosts. Sets the header `Host` if an HTTP/2
/// request names its host only in `:authority`.
pub(super) fn check(parts: &mut Parts, origins: Origins, hosts: &[String]) -> Result<(), Refusal> {
    if size(parts) > MAX_HEAD {
        return Err(Refusal::LargeHead);
    }
    let host = host(parts)?;
    if !host.to_str().is_ok_and(|host| is_loopback(host) || is_one_of(host, hosts)) {
        return Err(Refusal::Foreign(if hosts.is_empty() {
            "The Host must be 127.0.0.1, [::1] or localhost, with a port."
        } else {
            "The Host must be localhost, host.docker.internal or the address of --listen, with a port."
        }));
    }
    if !allows(origins, &parts.headers) {
        return Err(Refusal::Foreign("Web pages may not send requests to this port."));
    }
    parts.headers.insert(header::HOST, host);
    Ok(())
}

/// Size of the request line and the headers, as HTTP/1.1 writes them.
fn size(parts: &Parts) -> usize {
    let line = parts.method.as_str().len()
        + parts.uri.path_and_query().map_or(0, |path| path.as_str().len())
        + "  HTTP/1.1\r\n".len();
    let headers = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    line + headers.sum::<usize>()
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
    ["127.0.0.1", "[::1]", "localhost"].iter().any(|known| known.eq_ignore_ascii_case(name(authority)))
}

fn is_one_of(authority: &str, hosts: &[String]) -> bool {
    hosts.iter().any(|known| known.eq_ignore_ascii_case(name(authority)))
}

/// Returns the authority without its port.
fn name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => authority,
    }
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
        check(&mut parts, origins, &[]).map(|()| parts.headers[header::HOST].clone())
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
    fn accepts_a_head_of_the_size_that_api_gateway_accepts() {
        // The rest of the head is `GET /… HTTP/1.1`, `host: localhost` and `a: …`.
        let rest = "GET / HTTP/1.1\r\nhost: localhost\r\na: \r\n".len();
        let text = |length: usize| "x".repeat(length);
        for size in [MAX_HEAD, MAX_HEAD + 1] {
            let expected = if size > MAX_HEAD { Err(Refusal::LargeHead) } else { Ok("localhost".parse().unwrap()) };
            for (path, value) in [(0, size - rest), (size - rest - 7, 7)] {
                let headers = [("host", "localhost"), ("a", &*text(value))];
                assert_eq!(checked(&format!("/{}", text(path)), &headers, Origins::None), expected, "{path} {value}");
            }
        }
    }

    #[test]
    fn rejects_foreign_pages() {
        for (name, value, expected) in [
            ("origin", "http://localhost:5173", [true, false]),
            ("origin", "https://example.com", [false, false]),
            ("origin", "null", [false, false]),
            ("sec-fetch-site", "cross-site", [false, false]),
            ("sec-fetch-site", "none", [true, true]),
        ] {
            let headers = [("host", "127.0.0.1:3000"), (name, value)];
            let accepted = [Origins::Loopback, Origins::None].map(|origins| checked("/", &headers, origins).is_ok());
            assert_eq!(accepted, expected, "{name}: {value}");
        }
    }
}
