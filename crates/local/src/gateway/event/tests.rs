use http::HeaderName;

use super::*;
use crate::gateway::Routes;
use template::Route;

struct Sent<'a> {
    method: Method,
    target: &'a str,
    headers: &'a [(&'static str, &'a str)],
    body: &'a [u8],
}

impl Sent<'_> {
    fn event(&self, claims: Value) -> Value {
        let paths = ["/bank/payments/due", "/bank/accounts/{accountId}/payments/{paymentId}"];
        let routes = paths.map(|path| Route { method: "PATCH".into(), path: path.into(), scopes: vec![], line: 1 });
        let routes = Routes::new(routes.iter().map(|route| ("f", route)));
        let (path, query) = self.target.split_once('?').unwrap_or((self.target, ""));
        let headers = self.headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let mut map = HeaderMap::new();
        headers.for_each(|(name, value)| {
            map.append(name, value);
        });
        let incoming = Incoming {
            method: &self.method,
            path,
            query,
            version: Version::HTTP_11,
            headers: &map,
            body: &Bytes::copy_from_slice(self.body),
            peer: "127.0.0.1".parse().unwrap(),
            request_id: "request-1",
            now: "2026-12-01T09:30:00.123Z".parse().unwrap(),
        };
        let found = routes.find(self.method.as_str(), path).unwrap();
        incoming.event(&found, &serde_json::from_value(claims).unwrap())
    }
}

#[test]
fn builds_an_api_gateway_event() {
    let sent = Sent {
        method: Method::PATCH,
        target: "/bank/accounts/Acc%20%231/payments/p-1?a=1&b=x%20y&a=2+3",
        headers: &[
            ("host", "localhost:3000"),
            ("content-type", "application/json; charset=utf-8"),
            ("cookie", "c=1; d=2"),
            ("x-twice", "one"),
            ("x-twice", "two"),
            ("user-agent", "curl/8"),
        ],
        body: br#"{"status":"PENDING"}"#,
    };
    let claims = json!({
        "sub": "u", "scope": "bank:write bank:read", "account_ids": ["a", "b"], "exp": 1_700_000_000, "ok": true
    });
    let expected = json!({
        "version": "2.0",
        "routeKey": "PATCH /bank/accounts/{accountId}/payments/{paymentId}",
        "rawPath": "/bank/accounts/Acc #1/payments/p-1",
        "rawQueryString": "a=1&b=x%20y&a=2+3",
        "cookies": ["c=1", "d=2"],
        "headers": {
            "host": "localhost:3000",
            "content-type": "application/json; charset=utf-8",
            "x-twice": "one,two",
            "user-agent": "curl/8",
            "x-forwarded-for": "127.0.0.1",
            "x-forwarded-port": "3000",
            "x-forwarded-proto": "http"
        },
        "queryStringParameters": {"a": "1,2 3", "b": "x y"},
        "pathParameters": {"accountId": "Acc #1", "paymentId": "p-1"},
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "authorizer": {
                "jwt": {
                    "claims": {
                        "sub": "u", "scope": "bank:write bank:read", "account_ids": "[a b]", "exp": "1700000000", "ok": "true"
                    },
                    "scopes": null
                }
            },
            "domainName": "localhost",
            "domainPrefix": "localhost",
            "http": {
                "method": "PATCH",
                "path": "/bank/accounts/Acc #1/payments/p-1",
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "curl/8"
            },
            "requestId": "request-1",
            "routeKey": "PATCH /bank/accounts/{accountId}/payments/{paymentId}",
            "stage": "$default",
            "time": "01/Dec/2026:09:30:00 +0000",
            "timeEpoch": 1_796_117_400_123_i64
        },
        "body": "{\"status\":\"PENDING\"}",
        "isBase64Encoded": false
    });
    assert_eq!(sent.event(claims), expected);
}

#[test]
fn claims_have_the_texts_of_api_gateway() {
    for (claim, text) in [
        (json!("a b"), json!("a b")),
        (json!(1_700_000_000), json!("1700000000")),
        (json!(true), json!("true")),
        (json!(["a", "b"]), json!("[a b]")),
        (json!([]), json!("[]")),
        (json!(["a", ["b", "c"], null, 7]), json!("[a [b c] <nil> 7]")),
        (json!({"b": {"c": true}, "a": ["d", "e"]}), json!("map[a:[d e] b:map[c:true]]")),
        (Value::Null, Value::Null),
    ] {
        let sent = Sent { method: Method::PATCH, target: "/bank/payments/due", headers: &[], body: b"" };
        let event = sent.event(json!({"claim": claim}));
        assert_eq!(event["requestContext"]["authorizer"]["jwt"]["claims"]["claim"], text, "{claim}");
    }
}

#[test]
fn encodes_binary_bodies_in_base64_and_omits_absent_fields() {
    for (kind, body, expected) in [
        ("text/plain", "ä".as_bytes(), json!(["ä", false])),
        ("application/json", b"\xff", json!(["/w==", true])),
        ("application/octet-stream", b"a", json!(["YQ==", true])),
        ("application/x-www-form-urlencoded", b"a", json!(["YQ==", true])),
        ("APPLICATION/JSON", b"{}", json!(["{}", false])),
        ("application/json", b"", json!([null, false])),
    ] {
        let headers = [("host", "127.0.0.1"), ("content-type", kind)];
        let sent = Sent { method: Method::PATCH, target: "/bank/payments/due", headers: &headers, body };
        let event = sent.event(json!({}));
        assert_eq!(json!([event["body"], event["isBase64Encoded"]]), expected, "{kind}");
        for name in
            ["cookies", "queryStringParameters", "pathParameters", if body.is_empty() { "body" } else { "none" }]
        {
            assert!(event.get(name).is_none(), "{name}");
        }
        assert_eq!(event["requestContext"]["authorizer"]["jwt"], json!({"claims": {}, "scopes": null}));
    }
}
