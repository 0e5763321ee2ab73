//! Conversions between events of an HTTP API and HTTP messages.
//!
//! The crate `lambda_http` panics if an event does not describe a valid URI or body. This module
//! checks the parts that come from the caller, and removes the parts that no handler uses.

use crate::Error;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderValue, Uri, header, uri::Authority};
use lambda_http::{
    Body, Request, Response,
    aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse},
    request::LambdaRequest,
};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use std::io;

/// Maximum size of a response event, in bytes. Lambda replaces a larger one by an error.
const MAX_RESPONSE: usize = 6 * 1024 * 1024;
/// Space for the parts of a response event other than its body: status and headers.
const ENVELOPE: usize = 4 * 1024;

/// Reads the JSON text of an event.
///
/// # Errors
/// Returns [`Error::Invalid`] (400) if the event does not describe an HTTP request.
pub(crate) fn request(event: &str) -> Result<Request, Error> {
    let event: Result<ApiGatewayV2httpRequest, _> = serde_json::from_str(event);
    let mut event = event.map_err(|_| Error::invalid("/header", "the request is not a valid HTTP request"))?;
    let hosts = event.headers.get_all(header::HOST).iter().map(HeaderValue::as_bytes);
    if !hosts.chain(event.request_context.domain_name.as_deref().map(str::as_bytes)).all(is_host) {
        return Err(Error::invalid("/header/host", "must be one host name"));
    }
    let route = event.request_context.route_key.as_deref().unwrap_or_default();
    if !route.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Err(Error::invalid("/path", "is not a route"));
    }
    if let Some(query) = event.raw_query_string.take() {
        if format!("/?{query}").parse::<Uri>().is_err() {
            return Err(Error::invalid("/query", "must be percent-encoded"));
        }
        if percent_decode_str(&query).decode_utf8().is_err() {
            return Err(Error::invalid("/query", "must be UTF-8, percent-encoded"));
        }
        event.query_string_parameters = query.parse().unwrap_or_default();
    }
    let body = decoded_body(&mut event)?;
    // The route and the parameters of the event replace its URI.
    event.headers.remove(header::HOST);
    event.raw_path = None;
    event.request_context.domain_name = None;
    event.request_context.stage = None;
    let mut request = Request::from(LambdaRequest::ApiGatewayV2(event));
    if let Some(body) = body {
        *request.body_mut() = body;
    }
    Ok(request)
}

fn is_host(host: &[u8]) -> bool {
    let authority = Authority::try_from(host).ok().filter(|authority| !authority.as_str().contains(['@', ',']));
    authority.is_some_and(|authority| !authority.host().is_empty())
}

/// Takes the body out of the event, if it is Base64.
fn decoded_body(event: &mut ApiGatewayV2httpRequest) -> Result<Option<Body>, Error> {
    if !event.is_base64_encoded {
        return Ok(None);
    }
    event.is_base64_encoded = false;
    let Some(body) = event.body.take() else { return Ok(None) };
    let bytes = STANDARD.decode(body).map_err(|_| Error::invalid("/body", "is not valid Base64"))?;
    Ok(Some(Body::Binary(bytes)))
}

/// Converts a response to the format of Lambda.
pub(crate) fn response(response: Response<Body>) -> ApiGatewayV2httpResponse {
    let (parts, body) = response.into_parts();
    let mut event = ApiGatewayV2httpResponse::default();
    event.status_code = i64::from(parts.status.as_u16());
    event.headers = parts.headers;
    event.body = Some(body).filter(|body| !matches!(body, Body::Empty));
    event
}

/// Returns the response if its event does not exceed the limit of Lambda.
///
/// # Errors
/// Returns [`Error::TooLarge`] (413) if the response event would be too large.
pub(crate) fn within_limit(response: Response<Body>) -> Result<Response<Body>, Error> {
    let body = response.body();
    // An escape sequence replaces a byte by at most six. Most bodies are too short to be counted.
    let is_short = body.len() < (MAX_RESPONSE - ENVELOPE) / 6;
    if !is_short && escaped(body) + ENVELOPE > MAX_RESPONSE {
        return Err(Error::TooLarge(
            "The response would be too large. Request a shorter range or a lower limit.".to_owned(),
        ));
    }
    Ok(response)
}

/// The size of the body as a string in the response event, with escape sequences.
fn escaped(body: &impl Serialize) -> usize {
    struct Counter(usize);

    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, body).map_or(usize::MAX / 2, |()| counter.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn event() -> Value {
        json!({
            "version": "2.0", "routeKey": "GET /a", "rawPath": "/a", "rawQueryString": "a=1&b=%20",
            "headers": {"host": "api.example.com", "content-type": "application/json"},
            "requestContext": {"http": {"method": "GET", "path": "/a"}, "timeEpoch": 1, "domainName": "a.b", "stage": "$default"},
            "isBase64Encoded": false,
        })
    }

    fn outcome(change: impl FnOnce(&mut Value)) -> Result<Request, String> {
        let mut event = event();
        change(&mut event);
        request(&event.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn rejects_events_without_a_valid_host_query_or_body() {
        assert!(outcome(|_| {}).is_ok());
        for host in ["a, b", "a,b", "a b", "", "[", "a/b", "a\\b", "ä", "a@b", "a:b:c", "%"] {
            let error = outcome(|event| event["headers"]["host"] = host.into()).expect_err(host);
            assert!(error.contains("/header/host"), "{host}: {error}");
        }
        for route in ["GET /a\nb", "GET /ä", "\u{0}"] {
            let error = outcome(|event| event["requestContext"]["routeKey"] = route.into()).expect_err(route);
            assert!(error.contains("/path"), "{route}: {error}");
        }
        for query in ["a b", "a=\u{1}", "\u{7f}", "a=%FF", "%ff=1", "a=%C3&b=%A9", "a=%ED%A0%80", &"a".repeat(70_000)] {
            let error = outcome(|event| event["rawQueryString"] = query.into()).expect_err(query);
            assert!(error.contains("/query"), "{query}: {error}");
        }
        let error = outcome(|event| {
            event["isBase64Encoded"] = true.into();
            event["body"] = "?".into();
        });
        assert!(error.expect_err("Base64").contains("/body"));
        for event in ["null", "[]", "{}", "1", "{"] {
            assert!(matches!(request(event), Err(Error::Invalid(_))), "{event}");
        }
    }

    #[test]
    fn measures_the_escaped_body() {
        let sized = |text: String| within_limit(Response::new(Body::Text(text))).is_ok();
        assert!(sized("a".repeat(MAX_RESPONSE - ENVELOPE - 2)) && !sized("a".repeat(MAX_RESPONSE - ENVELOPE - 1)));
        assert!(sized("\"".repeat(MAX_RESPONSE / 2 - ENVELOPE)) && !sized("\"".repeat(MAX_RESPONSE / 2)));
        assert!(sized("\u{1}".repeat(MAX_RESPONSE / 6 - ENVELOPE)) && !sized("\u{1}".repeat(MAX_RESPONSE / 6)));
    }

    proptest! {
        #[test]
        fn no_text_in_an_event_panics(text in any::<String>(), at in 0_usize..8, base64 in any::<bool>()) {
            const PLACES: [&str; 8] = [
                "/headers/host", "/headers/x-forwarded-proto", "/rawPath", "/rawQueryString", "/body", "/requestContext/domainName",
                "/requestContext/stage", "/requestContext/http/method",
            ];
            let read = outcome(|event| {
                event["headers"]["x-forwarded-proto"] = "https".into();
                event["body"] = "".into();
                event["isBase64Encoded"] = base64.into();
                if let Some(place) = event.pointer_mut(PLACES[at]) {
                    *place = text.into();
                }
            });
            if let Err(error) = read {
                prop_assert!(error.starts_with("invalid: "), "{}", error);
            }
        }
    }
}
