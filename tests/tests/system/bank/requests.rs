//! Unusual but valid requests to the bank. Data comes back unchanged.

use serde_json::json;
use system_tests::{Asking, Client, bank::stack, requests::sent, send};

const PAYMENTS: &str = "/bank/accounts/A-1/payments";
const GOOD: &str = r#"{"scheduledTime": "2099-12-01T09:30:00Z", "data": 1}"#;

async fn raw(request: Asking) -> (u16, String) {
    let (status, _, text) = request.send().await;
    (status, text)
}

#[tokio::test]
async fn returns_portable_json_data_unchanged() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let deep = format!("{}1{}", "[".repeat(32), "]".repeat(32));
    let data = [
        "null",
        "12345678901234567890123456789012345678",
        "-0.12345678901234567890123456789012345678",
        "1e308",
        "1.50",
        "-0",
        "{\"b\": 1, \"a\":  2, \"B\": 3}",
        "\"a\\u0000b\"",
        "\"\\/\\u00e9é💶\"",
        "\"{{#PK}} '; -- $(x)\"",
        deep.as_str(),
    ];
    for (second, data) in data.iter().enumerate() {
        let body = format!("{{\"data\": {data}, \"scheduledTime\": \"2099-12-01T00:00:{second:02}Z\"}}");
        let (status, created) = raw(sent(&client, "POST", PAYMENTS, body)).await;
        assert_eq!(status, 201, "{data}: {created}");
        assert!(created.contains(&format!("\"data\":{data},")), "{data} became {created}");
        let list = "2099-12-01T00:00:";
        let list = format!("{PAYMENTS}?from={list}{second:02}Z&to={list}{second:02}Z");
        assert_eq!(raw(client.request("GET", &list)).await, (200, format!("{{\"items\":[{}]}}\n", created.trim_end())));
    }
    stack.stop().await;
}

#[tokio::test]
async fn accepts_unusual_but_valid_requests() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let longest = "x".repeat(128);
    for (path, account) in [
        ("a%2523b", "a%23b"),
        ("%2F", "/"),
        ("a+b", "a+b"),
        ("%C3%A4%F0%9F%92%B6", "ä💶"),
        (longest.as_str(), longest.as_str()),
    ] {
        let created = send(sent(&client, "POST", &format!("/bank/accounts/{path}/payments"), GOOD)).await;
        assert_eq!((created.status, &created.body["accountId"]), (201, &json!(account)), "{}", created.body);
        let location = created.headers["location"].to_str().expect("ASCII");
        assert_eq!(client.get(location).await.body, created.body);
    }
    for kind in ["APPLICATION/JSON; charset=utf-8", "application/merge-patch+json", "application/json;"] {
        let taken = send(client.request("POST", PAYMENTS).header("content-type", kind).body(GOOD)).await;
        assert_eq!(taken.status, 201, "{kind}: {}", taken.body);
    }
    stack.stop().await;
}
