//! Mistakes of newcomers and the answers to them, as a golden file. `UPDATE_DOCS=1` rewrites it.
use std::{fmt::Write as _, fs, path::PathBuf, process::Output};

use events::Auth;
use local::Stack;
use serde_json::{Value, json};

use crate::{Folder, http, root, run};

const JSON: &str = "application/json";

const PAYMENT: &str = r#"{"scheduledTime": "2099-12-01T09:30:00Z", "data": 1}"#;

/// A request with a mistake: what is wrong, the method and path, the content type and the body.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

const REQUESTS: &[Mistake] = &[
    ("a misspelled path", "GET /bank/payment/due", "", ""),
    ("a path with an upper-case letter", "GET /Bank/payments/due", "", ""),
    ("a path in the singular", "GET /cart/account/A-1/items", "", ""),
    ("a path that is like no other", "GET /robots.txt", "", ""),
    ("a slash at the end", "GET /bank/payments/due/", "", ""),
    ("an empty account", "GET /bank/accounts//payments", "", ""),
    ("a wrong method", "PUT /bank/accounts/A-1/payments", JSON, PAYMENT),
    ("an OPTIONS request", "OPTIONS /bank/payments/due", "", ""),
    ("no body", "POST /bank/accounts/A-1/payments", JSON, ""),
    ("no content type", "POST /bank/accounts/A-1/payments", "", PAYMENT),
    ("a body that is not JSON", "POST /bank/accounts/A-1/payments", JSON, "{'scheduledTime': 1}"),
    ("an array as the body", "POST /bank/accounts/A-1/payments", JSON, "[]"),
    ("missing fields", "POST /bank/accounts/A-1/payments", JSON, "{}"),
    (
        "an unknown field",
        "POST /bank/accounts/A-1/payments",
        JSON,
        r#"{"scheduledTime": "2099-12-01T09:30:00Z", "date": 1, "data": 1}"#,
    ),
    (
        "a time without an offset",
        "POST /bank/accounts/A-1/payments",
        JSON,
        r#"{"scheduledTime": "2099-12-01T09:30:00", "data": 1}"#,
    ),
    ("a number as a time", "POST /bank/accounts/A-1/payments", JSON, r#"{"scheduledTime": 4099680000, "data": 1}"#),
    ("a day that does not exist", "GET /bank/payments/due?date=2026-06-31", "", ""),
    ("a date in another order", "GET /bank/payments/due?date=01.12.2026", "", ""),
    ("a lower-case status", "GET /bank/payments/due?status=scheduled", "", ""),
    ("an unknown query parameter", "GET /bank/payments/due?day=2026-12-01", "", ""),
    ("an offset without %2B", "GET /bank/accounts/A-1/payments?from=2026-12-01T00:00:00+02:00", "", ""),
    ("a limit that is too large", "GET /bank/accounts/A-1/payments?limit=1000", "", ""),
    ("a made-up cursor", "GET /bank/accounts/A-1/payments?cursor=2", "", ""),
    ("a quantity as a string", "POST /cart/accounts/A-1/items", JSON, r#"{"sku": "shoes", "quantity": "2"}"#),
    (
        "a lower-case currency",
        "PUT /cart/products/shoes",
        JSON,
        r#"{"name": "Shoes", "price": "1.00", "currency": "usd"}"#,
    ),
    (
        "a price with a comma",
        "PUT /cart/products/shoes",
        JSON,
        r#"{"name": "Shoes", "price": "1,00", "currency": "USD"}"#,
    ),
    (
        "legs as arrays",
        "POST /ledger/transactions",
        JSON,
        r#"{"transactionType": "payment", "legs": [["a", "debit", "1.00"]]}"#,
    ),
    ("a misspelled function", "POST /_local/functions/get-payments/invocations", JSON, "{}"),
    ("a misspelled local path", "GET /_local/heath", "", ""),
];

/// Headers with a mistake: what is wrong, the header `authorization`, and the method and path.
fn tokens(stack: &Stack) -> Vec<(&'static str, Option<String>, &'static str)> {
    let token =
        |claims: Value| Some(format!("Bearer {}", stack.token(serde_json::from_value(claims).unwrap()).unwrap()));
    let due = "GET /bank/payments/due";
    vec![
        ("no token, if tokens are required", None, due),
        ("a token that is no token", Some("Bearer secret".to_owned()), due),
        ("an expired token", token(json!({"scope": "bank:operate", "exp": 1})), due),
        ("a token of another issuer", token(json!({"scope": "bank:operate", "iss": "https://example.com"})), due),
        ("a token without scopes", token(json!({"sub": "ann"})), due),
        ("a token with a scope of another service", token(json!({"scope": "cart:read cart:write"})), due),
        (
            "another customer's account",
            token(json!({"scope": "bank:read", "account_ids": "A-2"})),
            "GET /bank/accounts/A-1/payments",
        ),
        ("a local path without the operator's scopes", token(json!({"scope": "bank:operate"})), "GET /_local/streams"),
    ]
}

/// Command lines with a mistake. `TAKEN` stands for a port in use.
const COMMANDS: &[(&str, &str)] = &[
    ("a misspelled scope", "token --scope bank:raed"),
    ("a scope that is like no other", "token --scope everything"),
    ("a lifetime without a unit", "token --scope bank:read --expires-in 30"),
    ("a misspelled stack", "run --stack leger"),
    ("a port in use", "run --port TAKEN --dynamodb-port 0"),
    ("a port that is no number", "run --port http"),
    ("a parameter without a value", "run --parameter ReadShards"),
    ("data in a folder that does not exist", "run --port 0 --dynamodb-port 0 --data nowhere/my.db"),
    ("an event file that does not exist", "invoke get-payment nothing.json --url http://127.0.0.1:9"),
    ("a variant that does not exist", "invoke get-payment get-payment.nothing --url http://127.0.0.1:9"),
    ("a misspelled command", "rnu"),
];

async fn answer(stack: &Stack, asked: &str, kind: &str, body: &str, token: Option<&str>) -> String {
    let (method, path) = asked.split_once(' ').unwrap();
    let mut request = http().request(method.parse().unwrap(), format!("{}{path}", stack.url()));
    if !kind.is_empty() {
        request = request.header("content-type", kind);
    }
    if let Some(token) = token {
        request = request.header("authorization", token);
    }
    let response = request.body(body.to_owned()).send().await.unwrap();
    let mut text = response.status().as_u16().to_string();
    if let Some(allowed) = response.headers().get("allow") {
        write!(text, " (Allow: {})", allowed.to_str().unwrap()).unwrap();
    }
    let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    for detail in
        body["detail"].as_str().into_iter().chain(body["message"].as_str().filter(|_| body["detail"].is_null()))
    {
        write!(text, " {detail}").unwrap();
    }
    for fault in body["errors"].as_array().into_iter().flatten() {
        write!(text, "\n  {}: {}", fault["pointer"].as_str().unwrap(), fault["detail"].as_str().unwrap()).unwrap();
    }
    text
}

fn outcome(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = error.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    format!("exit code {}: {}", output.status.code().unwrap(), lines.join("\n  "))
}

#[tokio::test]
async fn mistakes_get_the_answers_of_the_golden_file() {
    let template = root().join("template.yaml");
    let stack = Stack::builder(&template).start().await.unwrap();
    let strict = Stack::builder(&template).auth(Auth::Required).start().await.unwrap();
    let mut text = "# Mistakes and their answers. UPDATE_DOCS=1 rewrites this file.\n".to_owned();
    for (wrong, asked, kind, body) in REQUESTS {
        let answered = answer(&stack, asked, kind, body, None).await;
        write!(text, "\n{wrong}\n> {}\n{answered}\n", [asked, *body].join(" ").trim_end()).unwrap();
    }
    for (wrong, token, asked) in tokens(&strict) {
        let answered = answer(&strict, asked, "", "", token.as_deref()).await;
        write!(text, "\n{wrong}\n> {asked}\n{answered}\n").unwrap();
    }
    let port = stack.url().rsplit_once(':').unwrap().1;
    for (wrong, line) in COMMANDS {
        let arguments: Vec<_> = line.split(' ').map(|part| if part == "TAKEN" { port } else { part }).collect();
        let output = run(&root(), &arguments).await;
        let told =
            outcome(&output).replace(port, "TAKEN").replace(root().canonicalize().unwrap().to_str().unwrap(), "ROOT");
        write!(text, "\n{wrong}\n> local {line}\n{told}\n").unwrap();
    }
    let elsewhere = Folder::new();
    let told = outcome(&run(&elsewhere.0, &["run"]).await);
    write!(text, "\na wrong folder\n> local run\n{told}\n").unwrap();
    assert!(REQUESTS.len() + COMMANDS.len() >= 40);
    // Types of Rust and messages of libraries.
    let names = ["Option<", "Vec<", "serde", "os error", "digit found"];
    for name in names {
        assert!(!text.contains(name), "an answer contains {name}: {text}");
    }
    stack.stop().await;
    strict.stop().await;
    compare(&text);
}

fn compare(text: &str) {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/binary/mistakes.txt");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&golden, text).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    assert!(expected == text, "run `UPDATE_DOCS=1 cargo test --package local --test binary`\n{text}");
}

/// Each byte that a path, a query or a host can hold gets an answer of the gateway or the function.
#[tokio::test]
async fn each_byte_in_a_request_line_or_host_is_answered() {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    let stack = Stack::builder(root().join("template.yaml")).start().await.unwrap();
    let address = stack.url().strip_prefix("http://").unwrap();
    for byte in 0..=u8::MAX {
        let escaped = format!("%{byte:02X}").into_bytes();
        for part in [vec![byte], escaped] {
            let piece = |before: &str, after: &str| [before.as_bytes(), &part, after.as_bytes()].concat();
            let host = piece("Host: localhost", "\r\n");
            let usual = b"Host: localhost\r\n".to_vec();
            for (line, host) in [
                (piece("GET /bank/accounts/A", "B/payments HTTP/1.1\r\n"), usual.clone()),
                (piece("GET /bank/accounts/A/payments?status=", " HTTP/1.1\r\n"), usual.clone()),
                (piece("GET /bank/accounts/%3F", "/payments?%23a=b HTTP/1.1\r\n"), usual),
                (piece("GET /bank/accounts/A/payments", " HTTP/1.1\r\n"), host),
            ] {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(&[&line[..], &host, b"Connection: close\r\n\r\n"].concat()).await.unwrap();
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).await.unwrap();
                let status = String::from_utf8_lossy(&answer).get(9..12).map(str::to_owned).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).into_owned();
                assert!(["200", "400", "403", "404", "405"].contains(&status.as_str()), "{byte} {line:?}: {status:?}");
            }
        }
    }
    stack.stop().await;
}
