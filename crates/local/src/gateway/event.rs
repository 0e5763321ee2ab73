//! Converts an HTTP request to an API Gateway event (HTTP API, payload format 2.0).
use std::net::IpAddr;

use axum::body::Bytes;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, Method, Version, header};
use itertools::Itertools as _;
use jiff::{Timestamp, tz::TimeZone};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::routes::Match;
use events::auth::{self, Claims};
use template::ACCOUNT;

/// HTTP request from which the event is built.
pub(crate) struct Incoming<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) version: Version,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a Bytes,
    pub(crate) peer: IpAddr,
    pub(crate) request_id: &'a str,
    pub(crate) now: Timestamp,
}

impl Incoming<'_> {
    /// Builds the event for the matched route and the caller's claims.
    pub(crate) fn event(&self, matched: &Match<'_>, claims: &Claims) -> Value {
        let (body, base64) = self.body();
        let mut event = json!({
            "version": "2.0",
            "routeKey": matched.target.key,
            "rawPath": self.decoded_path(),
            "rawQueryString": self.query,
            "headers": self.headers(),
            "requestContext": self.context(matched, claims),
            "isBase64Encoded": base64,
        });
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                event[name] = value;
            }
        };
        add("cookies", self.cookies());
        add("queryStringParameters", self.query_parameters());
        add("pathParameters", path_parameters(matched));
        add("body", body.map(Value::String));
        event
    }

    // HTTP APIs send the decoded path in the event. REST APIs and function URLs do not decode it.
    fn decoded_path(&self) -> String {
        percent_decode_str(self.path).decode_utf8_lossy().into_owned()
    }

    fn header(&self, name: impl header::AsHeaderName) -> String {
        self.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default()
    }

    fn headers(&self) -> Map<String, Value> {
        let mut headers = Map::new();
        for name in self.headers.keys().filter(|name| **name != header::COOKIE) {
            let values: Vec<_> =
                self.headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
            headers.insert(name.as_str().to_owned(), json!(values.join(",")));
        }
        let port = self.header(header::HOST).rsplit_once(':').map_or("80".to_owned(), |(_, port)| port.to_owned());
        for (name, value) in [
            ("x-forwarded-for", self.peer.to_string()),
            ("x-forwarded-port", port),
            ("x-forwarded-proto", "http".into()),
        ] {
            headers.insert(name.to_owned(), json!(value));
        }
        headers
    }

    fn cookies(&self) -> Option<Value> {
        let all = self.headers.get_all(header::COOKIE);
        let cookies: Vec<_> =
            all.iter().filter_map(|value| value.to_str().ok()).flat_map(|line| line.split("; ")).collect();
        (!cookies.is_empty()).then(|| json!(cookies))
    }

    fn query_parameters(&self) -> Option<Value> {
        let mut parameters: Map<String, Value> = Map::new();
        for (name, value) in form_urlencoded::parse(self.query.as_bytes()) {
            let joined = match parameters.get(name.as_ref()).and_then(Value::as_str) {
                Some(first) => format!("{first},{value}"),
                None => value.into_owned(),
            };
            parameters.insert(name.into_owned(), json!(joined));
        }
        (!parameters.is_empty()).then_some(Value::Object(parameters))
    }

    fn context(&self, matched: &Match<'_>, claims: &Claims) -> Value {
        let host = self.header(header::HOST);
        let domain = host.rsplit_once(':').map_or(host.as_str(), |(domain, _)| domain);
        json!({
            "accountId": ACCOUNT,
            "apiId": "local",
            "authorizer": {"jwt": {"claims": claims_as_text(claims), "scopes": scopes(matched, claims)}},
            "domainName": domain,
            "domainPrefix": domain.split('.').next(),
            "http": {
                "method": self.method.as_str(),
                "path": self.decoded_path(),
                "protocol": format!("{:?}", self.version),
                "sourceIp": self.peer.to_string(),
                "userAgent": self.header(header::USER_AGENT),
            },
            "requestId": self.request_id,
            "routeKey": matched.target.key,
            "stage": "$default",
            "time": self.now.to_zoned(TimeZone::UTC).strftime("%d/%b/%Y:%H:%M:%S %z").to_string(),
            "timeEpoch": self.now.as_millisecond(),
        })
    }

    fn body(&self) -> (Option<String>, bool) {
        if self.body.is_empty() {
            return (None, false);
        }
        match str::from_utf8(self.body) {
            Ok(text) if is_text(&self.header(header::CONTENT_TYPE)) => (Some(text.to_owned()), false),
            _ => (Some(STANDARD.encode(self.body)), true),
        }
    }
}

fn path_parameters(matched: &Match<'_>) -> Option<Value> {
    let parameters: Map<_, _> =
        matched.parameters.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    (!parameters.is_empty()).then_some(Value::Object(parameters))
}

/// Whether API Gateway passes bodies with this content type as text. API Gateway encodes other
/// bodies in base64.
fn is_text(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind.starts_with("text/")
        || ["application/json", "application/xml", "application/javascript"].contains(&kind.as_str())
}

/// All scopes of the token, or null if the route requires none.
fn scopes(matched: &Match<'_>, claims: &Claims) -> Value {
    if matched.target.scopes.is_empty() { Value::Null } else { json!(auth::scopes(claims)) }
}

/// Converts every claim to text, as API Gateway does. A claim that is null is left out.
fn claims_as_text(claims: &Claims) -> Map<String, Value> {
    let claims = claims.iter().filter(|(_, value)| !value.is_null());
    claims.map(|(name, value)| (name.clone(), json!(as_text(value)))).collect()
}

/// The text of a claim in the format of the Go verb `%v`, which API Gateway uses: a list becomes
/// `[a b]`, and an object `map[a:b]`.
fn as_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(as_text).join(" ")),
        Value::Object(members) => {
            format!("map[{}]", members.iter().map(|(name, value)| format!("{name}:{}", as_text(value))).join(" "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
