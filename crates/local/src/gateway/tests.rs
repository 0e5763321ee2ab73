use std::{sync::Arc, time::Duration};

use axum::body::HttpBody as _;
use function::{Diagnostic, Invocation};
use http::{HeaderValue, Method, StatusCode};
use itertools::Itertools as _;
use serde_json::{Value, json};
use table::{Call, Units, Usage};

use crate::{
    Builder, CONSUMED, Stack,
    lambda::{Bind, Handler},
};
use events::Auth;

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Timeout: 60}}
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}]
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      Auth:
        DefaultAuthorizer: Jwt
        Authorizers: {Jwt: {JwtConfiguration: {issuer: local, audience: [local]}}}
  Echo:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/echo
      Events:
        Route: {Type: HttpApi, Properties: {Method: POST, Path: '/things/{id}', Auth: {AuthorizationScopes: [x:write, x:operate]}}}
        Night: {Type: Schedule, Properties: {Schedule: rate(1 day)}}
  Fail:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/fail
      Events:
        Route: {Type: HttpApi, Properties: {Method: GET, Path: /fail, Auth: {AuthorizationScopes: [x:read]}}}
  Panic:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/panic
      Events:
        Route: {Type: HttpApi, Properties: {Method: GET, Path: /panic, Auth: {AuthorizationScopes: [x:read]}}}
  Hang:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/hang
      Timeout: 1
      Events:
        Route: {Type: HttpApi, Properties: {Method: GET, Path: /hang, Auth: {AuthorizationScopes: [x:read]}}}
  Made:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/made
      Events:
        Route: {Type: HttpApi, Properties: {Method: GET, Path: /made, Auth: {AuthorizationScopes: [x:read]}}}
";

const CONDITION: &str = "PK = 'ä\u{7f}😀'";

fn invocation(answer: Result<Value, Diagnostic>) -> Invocation {
    let call = Call {
        action: "Query",
        condition: Some(CONDITION.into()),
        table: "T".into(),
        index: Some("I".into()),
        read: Units::default(),
        write: Units::default(),
    };
    Invocation { answer, usage: Usage { calls: vec![call], ..Usage::default() } }
}

fn made() -> Value {
    json!({
        "statusCode": 201,
        "headers": {"location": "/here", "content-type": "application/problem+json"},
        "cookies": ["a=1", "b=2"],
        "body": "aGk=",
        "isBase64Encoded": true
    })
}

fn handlers() -> Vec<(String, Bind)> {
    let handler = |name: &'static str| -> Handler {
        Arc::new(move |event, context| {
            Box::pin(async move {
                match name {
                    "echo" if event["repeat"].is_u64() => {
                        let count = event["repeat"].as_u64().unwrap().try_into().unwrap();
                        invocation(Ok(event["text"].as_str().unwrap().repeat(count).into()))
                    }
                    "echo" => invocation(Ok(json!({"event": event, "function": context.env_config.function_name}))),
                    "fail" => {
                        invocation(Err(Diagnostic { error_type: "broken".into(), error_message: "it broke".into() }))
                    }
                    "panic" => panic!("expected by the test"),
                    "hang" => std::future::pending().await,
                    _ => invocation(Ok(made())),
                }
            })
        })
    };
    let bind = |name: &'static str| -> (String, Bind) {
        (name.to_owned(), Box::new(move |_: &function::Settings, _: function::Clients| Ok(handler(name))))
    };
    ["echo", "fail", "panic", "hang", "made"].map(bind).into()
}

struct Api {
    stack: Stack,
    http: reqwest::Client,
}

impl Api {
    async fn start(auth: Auth) -> Self {
        Self::of(Stack::of_text(TEMPLATE).auth(auth)).await
    }

    async fn of(builder: Builder) -> Self {
        let stack = builder.bound(handlers()).start().await.unwrap();
        Self { stack, http: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    fn invoke(&self, function: &str, event: &Value) -> reqwest::RequestBuilder {
        self.request(Method::POST, &format!("/_local/functions/{function}/invocations")).body(event.to_string())
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.stack.url()))
    }

    fn token(&self, claims: Value) -> String {
        self.stack.token(serde_json::from_value(claims).unwrap()).unwrap()
    }
}

async fn answer(request: reqwest::RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(json!(text)))
}

fn refusal(status: u16, message: &str) -> (StatusCode, Value) {
    (StatusCode::from_u16(status).unwrap(), json!({"message": message}))
}

/// The response without the explanation that only the local stack gives.
async fn refused(request: reqwest::RequestBuilder) -> (StatusCode, Value) {
    let (status, body) = answer(request).await;
    (status, json!({"message": body["message"]}))
}

/// Repeats a request until its body satisfies the condition, for at most a minute.
async fn until<F: Future<Output = (StatusCode, Value)>>(ask: impl Fn() -> F, is_so: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..12_000 {
        let (_, body) = ask().await;
        if is_so(&body) {
            return body;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    unreachable!("the condition is never met: {}", ask().await.1)
}

#[tokio::test]
async fn only_pages_of_the_declared_origin_may_call_the_api() {
    const WEB: &str = "http://localhost:5173";
    let cors = "CorsConfiguration: {AllowOrigins: [http://localhost:5173], AllowMethods: [POST], \
         AllowHeaders: [authorization], ExposeHeaders: [location], MaxAge: 300}";
    let text = TEMPLATE.replace("      Auth:\n        Default", &format!("      {cors}\n      Auth:\n        Default"));
    let api = Api::of(Stack::of_text(&text)).await;
    let ask = |method: Method, origin: &'static str| {
        let request = api.request(method, "/made").header("origin", origin);
        request.header("access-control-request-method", "POST").send()
    };
    let header = |response: &reqwest::Response, name: &str| {
        response.headers().get(format!("access-control-{name}")).map(|value| value.to_str().unwrap().to_owned())
    };
    // A preflight request has no token, and its path need not have the method OPTIONS.
    let preflight = ask(Method::OPTIONS, WEB).await.unwrap();
    assert!(preflight.status().is_success());
    let allowed = ["allow-origin", "allow-methods", "allow-headers", "max-age"].map(|name| header(&preflight, name));
    assert_eq!(allowed, [WEB, "POST", "authorization", "300"].map(|value| Some(value.to_owned())));
    let answered = ask(Method::GET, WEB).await.unwrap();
    assert_eq!(answered.status(), 201);
    assert_eq!(header(&answered, "allow-origin").as_deref(), Some(WEB));
    assert_eq!(header(&answered, "expose-headers").as_deref(), Some("location"));
    for method in [Method::OPTIONS, Method::GET] {
        let other = ask(method, "http://localhost:5174").await.unwrap();
        assert_eq!(header(&other, "allow-origin"), None);
    }
    let local = api.request(Method::GET, "/_local/health").header("origin", WEB).send().await.unwrap();
    assert_eq!(header(&local, "allow-origin"), None);
    assert_eq!(ask(Method::GET, "https://example.com").await.unwrap().status(), 403);
    api.stack.stop().await;
    let without = Api::start(Auth::Open).await;
    let request = without.request(Method::GET, "/made").header("origin", WEB);
    assert_eq!(header(&request.send().await.unwrap(), "allow-origin"), None);
    without.stack.stop().await;
}

#[tokio::test]
async fn the_shorter_addresses_lead_to_the_console() {
    let api = Api::of(Stack::of_text(TEMPLATE).auth(Auth::Required).console(true)).await;
    let without = Api::start(Auth::Open).await;
    for path in ["/", "/_local"] {
        let page = api.request(Method::GET, path).send().await.unwrap();
        assert_eq!((page.status().as_u16(), page.url().path()), (200, "/_local/"), "{path}");
        // The page loads nothing from another origin, and no other page frames it.
        let policy = page.headers()["content-security-policy"].to_str().unwrap();
        for part in ["default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"] {
            assert!(policy.split("; ").any(|own| own == part), "{part}: {policy}");
        }
        assert_eq!(api.request(Method::POST, path).send().await.unwrap().status(), 404, "{path}");
        assert_eq!(without.request(Method::GET, path).send().await.unwrap().status(), 404, "{path}");
    }
    api.stack.stop().await;
    without.stack.stop().await;
}

/// An event can be any JSON. Whatever it is, the next invocation is recorded as well.
#[tokio::test]
async fn the_console_records_every_event_that_is_json() {
    let api = Api::of(Stack::of_text(TEMPLATE).console(true)).await;
    let get = |path: &str| answer(api.request(Method::GET, &format!("/_local/api/{path}")));
    let record = |change: Value| json!({"eventSourceARN": "arn:aws:dynamodb:us-east-1:0:table/t", "dynamodb": change});
    let odd = [
        json!([]),
        json!(null),
        json!(1e300),
        json!("x".repeat(1_000_000)),
        json!({"Records": {}}),
        json!({"Records": [null, [], 7, {}, {"eventSourceARN": 7}, {"s3": []}, {"eventSourceARN": ":table/"}]}),
        json!({"Records": [record(json!(null)), record(json!([])), record(json!({"Keys": {"PK": 7}}))]}),
        json!({"Records": [{"s3": {"object": {"key": "x".repeat(300_000)}}}]}),
        json!({"requestContext": {"http": {"method": "GET"}}, "rawPath": "/\u{0}\u{202e}", "rawQueryString": 7}),
        json!({"requestContext": {"http": {"method": "GET"}}, "rawPath": "x".repeat(400_000)}),
        json!({"detail-type": "x", "time": "x".repeat(300_000)}),
        (0..50).fold(json!({"Records": []}), |inner, _| json!({"Records": [inner]})),
    ];
    for (sent, (function, event)) in ["made", "panic"].into_iter().cartesian_product(&odd).enumerate() {
        let short: String = event.to_string().chars().take(80).collect();
        assert_eq!(answer(api.invoke(function, event)).await.0, 200, "{function} {short}");
        let home = until(|| get("home"), |home| home["traces"] == sent + 1 || home["lost"] != 0).await;
        assert_eq!((&home["traces"], &home["lost"]), (&json!(sent + 1), &json!(0)), "{function} {short}: {home}");
        let (status, detail) = get(&format!("traces/{sent}")).await;
        assert_eq!((status.as_u16(), &detail["function"]), (200, &json!(function)), "{short}");
        assert_eq!(detail["omitted"] == json!(["event"]), event.to_string().len() > 256 * 1024, "{short}");
        let traces = get("traces").await.1;
        assert!(traces[0]["title"].as_str().unwrap().chars().count() <= 200, "{short}");
    }
    api.stack.stop().await;
}

/// `make test-console` uses the page in a browser.
#[tokio::test]
async fn the_console_records_requests_and_needs_the_token_of_an_operator() {
    let api = Api::of(Stack::of_text(TEMPLATE).auth(Auth::Required).console(true)).await;
    let (status, page) = answer(api.request(Method::GET, "/_local/")).await;
    assert!(status == StatusCode::OK && page.as_str().unwrap().contains("console.js"), "{page}");
    let paths = ["home", "traces", "traces/0", "collections", "items", "entities", "heat", "jobs", "lake", "forms"];
    for path in paths.into_iter().chain(["docs/README.md", "token/operator"]) {
        let (status, _) = answer(api.request(Method::GET, &format!("/_local/api/{path}"))).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let token = api.token(json!({"scope": "x:operate"}));
    let sent = api.request(Method::POST, "/things/7").bearer_auth(&token).json(&json!({"a": 1}));
    assert_eq!(answer(sent).await.0, StatusCode::OK);
    let get = |path: &str| answer(api.request(Method::GET, &format!("/_local/api/{path}")).bearer_auth(&token));
    let traces = until(|| get("traces?q=things/7"), |traces| traces[0].is_object()).await;
    assert_eq!((&traces[0]["title"], &traces[0]["function"]), (&json!("POST /things/7"), &json!("echo")));
    for path in [
        "traces/9",
        "traces/x",
        "items?table=none&pk=A",
        "collections?table=",
        "entities",
        "docs/none",
        "token/king",
        "nothing",
    ] {
        assert_eq!(get(path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let without = Api::start(Auth::Open).await;
    assert_eq!(answer(without.request(Method::GET, "/_local/")).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn rejects_requests_without_a_valid_token_and_scope() {
    let api = Api::start(Auth::Required).await;
    let post = || api.request(Method::POST, "/things/1");
    assert_eq!(refused(post()).await, refusal(401, "Unauthorized"));
    let open = Api::start(Auth::Open).await;
    let nonsense = open.request(Method::POST, "/things/1").bearer_auth("nonsense");
    assert_eq!(refused(nonsense).await, refusal(401, "Unauthorized"));
    let expired = api.token(json!({"scope": "x:write", "exp": 1}));
    assert_eq!(refused(post().bearer_auth(expired)).await, refusal(401, "Unauthorized"));
    let narrow = api.token(json!({"scope": "x:read x:writer"}));
    assert_eq!(refused(post().bearer_auth(narrow)).await, refusal(403, "Forbidden"));
    for scope in ["x:write", "other x:operate"] {
        let token = api.token(json!({"scope": scope, "account_ids": ["a", "b"]}));
        let (status, body) = answer(post().bearer_auth(token)).await;
        assert_eq!(status, 200, "{scope}");
        assert_eq!(body["event"]["requestContext"]["authorizer"]["jwt"]["claims"]["account_ids"], "[a b]");
    }
}

#[tokio::test]
async fn rejects_the_requests_that_api_gateway_rejects() {
    let api = Api::start(Auth::Open).await;
    assert_eq!(refused(api.request(Method::GET, "/nothing")).await, refusal(404, "Not Found"));
    let response = api.request(Method::GET, "/things/1").send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["allow"]), (405, &HeaderValue::from_static("POST")));
    let post = || api.request(Method::POST, "/things/1");
    for length in [10 * 1024 * 1024, 10 * 1024 * 1024 + 1] {
        let body = vec![b'a'; length];
        assert_eq!(refused(post().body(body)).await, refusal(413, "Request Entity Too Large"), "{length}");
    }
    let long = post().header("x-long", "a".repeat(10_200));
    assert_eq!(refused(long).await, refusal(431, "Request Header Fields Too Large"));
    let rebound = post().header("host", "example.com");
    assert_eq!(refused(rebound).await, refusal(403, "Forbidden"));
    let page = post().header("origin", "https://example.com");
    assert_eq!(refused(page).await, refusal(403, "Forbidden"));
}

/// A comparison with all routes or functions takes time in proportion to the square of the length.
#[tokio::test]
async fn suggests_names_only_for_short_paths() {
    let api = Api::start(Auth::Required).await;
    let long = "x".repeat(9_900);
    for path in [format!("/things/{long}/fail"), format!("/{long}"), format!("/fail{}", "/".repeat(9_900))] {
        let (status, body) = answer(api.request(Method::GET, &path)).await;
        assert_eq!((status.as_u16(), &body["message"]), (404, &json!("Not Found")));
        let detail = body["detail"].as_str().unwrap();
        assert!(!detail.contains("nearest") && detail.len() < 100, "{detail}");
    }
    let operator = api.stack.operator_token().unwrap();
    let name = &long[..9_000];
    for path in [format!("functions/echo{name}/invocations"), format!("schedules/echo{name}")] {
        let (status, body) =
            answer(api.request(Method::POST, &format!("/_local/{path}")).bearer_auth(&operator).body("{}")).await;
        assert_eq!(status, 404);
        assert!(body["detail"].as_str().unwrap().contains("The functions are echo"), "{body}");
    }
    let token = format!("Bearer {}.{}", long.replace('x', "e30."), "a");
    let (status, body) = answer(api.request(Method::GET, "/fail").header("authorization", &token[..9_000])).await;
    assert_eq!((status.as_u16(), &body["message"]), (401, &json!("Unauthorized")));
}

#[tokio::test]
async fn rejects_text_that_is_not_utf8_and_joins_repeated_headers() {
    let api = Api::start(Auth::Open).await;
    let post = |path: &str| api.request(Method::POST, path);
    for path in ["/things/%FF", "/things/%c3", "/things/%ED%A0%80", "/things/1?a=%FE", "/things/1?%ff", "/_local/%FF"] {
        assert_eq!(refused(post(path)).await, refusal(400, "Bad Request"), "{path}");
    }
    for byte in [b'\xff', b'\xfe', b'\xe9'] {
        let key = HeaderValue::from_bytes(&[byte]).unwrap();
        assert_eq!(refused(post("/things/1").header("idempotency-key", key)).await, refusal(400, "Bad Request"));
    }
    let keyed = post("/things/%C3%A9?a=%C3%A9&b=1&b=2").header("idempotency-key", "k").header("Idempotency-Key", "k");
    let (status, body) = answer(keyed.header("x-name", HeaderValue::from_bytes("\u{e9}".as_bytes()).unwrap())).await;
    assert_eq!(status, StatusCode::OK);
    let event = &body["event"];
    assert_eq!((&event["headers"]["idempotency-key"], &event["headers"]["x-name"]), (&json!("k,k"), &json!("\u{e9}")));
    assert_eq!(event["pathParameters"], json!({"id": "\u{e9}"}));
    assert_eq!(event["queryStringParameters"], json!({"a": "\u{e9}", "b": "1,2"}));
}

#[tokio::test]
async fn returns_the_response_and_the_consumed_units() {
    let api = Api::start(Auth::Open).await;
    let response = api.request(Method::GET, "/made").send().await.unwrap();
    assert_eq!(response.status(), 201);
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!((&*header("location"), &*header("content-type")), ("/here", "application/problem+json"));
    assert_eq!(response.headers().get_all("set-cookie").iter().count(), 2);
    // The header is ASCII.
    let expected =
        json!([{"action": "Query", "table": "T", "index": "I", "condition": CONDITION, "read": 0, "write": 0}]);
    assert_eq!(serde_json::from_str::<Value>(&header(CONSUMED)).unwrap(), expected);
    assert_eq!(response.text().await.unwrap(), "hi");
    for path in ["/fail", "/panic", "/hang"] {
        assert_eq!(answer(api.request(Method::GET, path)).await, refusal(500, "Internal Server Error"), "{path}");
    }
}

#[test]
fn only_a_json_text_of_a_function_gets_a_newline() {
    for (kind, text, is_base64, sent) in [
        ("application/json", "{}", false, "{}\n"),
        ("application/json; charset=utf-8", "{}", false, "{}\n"),
        ("application/problem+json", "{}", false, "{}\n"),
        ("application/json", "e30=", true, "{}"),
        ("application/json", "", false, ""),
        ("text/csv", "a,b", false, "a,b"),
        ("text/plain", "application/json", false, "application/json"),
    ] {
        let answer =
            json!({"statusCode": 200, "headers": {"content-type": kind}, "body": text, "isBase64Encoded": is_base64});
        let body = super::answer::response(&answer).unwrap().into_body();
        let size = body.size_hint().exact().unwrap();
        assert_eq!(usize::try_from(size).unwrap(), sent.len(), "{kind} {text:?}");
    }
}

#[tokio::test]
async fn each_json_answer_ends_with_a_newline() {
    let api = Api::of(Stack::of_text(TEMPLATE).console(true)).await;
    let get = |path: &'static str| api.request(Method::GET, path);
    for request in [
        get("/nothing"),
        get("/fail"),
        get("/_local/health"),
        get("/_local/nothing"),
        get("/_local/api/home"),
        api.request(Method::POST, "/things/1"),
        api.request(Method::POST, "/_local/ttl"),
        api.invoke("echo", &json!({})),
        api.invoke("fail", &json!({})),
    ] {
        let response = request.send().await.unwrap();
        let url = response.url().clone();
        let text = response.text().await.unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok() && text.ends_with("}\n"), "{url}: {text:?}");
    }
    api.stack.stop().await;
}

#[tokio::test]
async fn invokes_a_function_or_its_schedule_on_request() {
    let api = Api::start(Auth::Open).await;
    let (status, body) = answer(api.invoke("echo", &json!({"date": "2026-12-01"}))).await;
    assert_eq!((status, &body["event"]), (StatusCode::OK, &json!({"date": "2026-12-01"})));
    let failed = api.invoke("fail", &json!({})).send().await.unwrap();
    assert_eq!(
        (failed.status().as_u16(), failed.headers()["x-amz-function-error"].as_bytes()),
        (200, &b"Unhandled"[..])
    );
    assert_eq!(failed.json::<Value>().await.unwrap(), json!({"errorMessage": "it broke", "errorType": "broken"}));
    let (_, hung) = answer(api.invoke("hang", &json!({}))).await;
    assert_eq!(hung, json!({"errorMessage": "Task timed out after 1.00 seconds", "errorType": "Sandbox.Timedout"}));
    let (status, body) = answer(api.invoke("nothing", &json!({}))).await;
    let unknown = "There is no function nothing. The functions are echo, fail, hang, made, panic.";
    assert_eq!((status.as_u16(), &body["detail"]), (404, &json!(unknown)));
    assert_eq!(answer(api.request(Method::POST, "/_local/functions/echo/invocations").body("{")).await.0, 400);
    let run = |name: &str| answer(api.request(Method::POST, &format!("/_local/schedules/{name}")));
    let event = run("echo").await.1["event"].clone();
    let told = ["detail-type", "source", "resources", "account", "region"].map(|member| event[member].clone());
    let rule = "arn:aws:events:us-east-1:000000000000:rule/local-echo-Night";
    assert_eq!(json!(told), json!(["Scheduled Event", "aws.events", [rule], "000000000000", "us-east-1"]));
    let time = event["time"].as_str().unwrap();
    assert!(time.parse::<jiff::Timestamp>().is_ok() && time.len() == "2026-12-01T23:59:00Z".len(), "{time}");
    assert_eq!((run("made").await.0, run("nothing").await.0), (StatusCode::NOT_FOUND, StatusCode::NOT_FOUND));
}

#[tokio::test]
async fn only_an_operator_uses_the_local_routes_of_a_stack_that_requires_tokens() {
    let api = Api::start(Auth::Required).await;
    let operator = api.stack.operator_token().unwrap();
    let customer = api.token(json!({"scope": "x:read x:write"}));
    for (method, path) in [
        (Method::POST, "functions/echo/invocations"),
        (Method::POST, "schedules/echo"),
        (Method::GET, "streams"),
        (Method::POST, "ttl"),
        (Method::POST, "reset"),
        (Method::GET, "nothing"),
    ] {
        let request = |token: &str| {
            let request = api.request(method.clone(), &format!("/_local/{path}")).body("{}");
            if token.is_empty() { request } else { request.bearer_auth(token) }
        };
        for (token, status) in [("", 401), ("nonsense", 401), (&*customer, 403)] {
            assert_eq!(answer(request(token)).await.0, status, "{path} {token}");
        }
        let (status, _) = answer(request(&operator)).await;
        // Only the command `local run` resets its stack.
        let expected = match path {
            "nothing" => 404,
            "reset" => 500,
            _ => 200,
        };
        assert_eq!(status, expected, "{path}");
    }
    let health = |token: &str| answer(api.request(Method::GET, "/_local/health").bearer_auth(token));
    let anonymous = answer(api.request(Method::GET, "/_local/health")).await;
    assert_eq!(anonymous, (StatusCode::OK, json!({"status": "ok"})));
    assert_eq!(health(&customer).await, anonymous);
    assert!(health(&operator).await.1["tables"].is_array());
}

#[tokio::test]
async fn health_is_ok_only_when_the_stack_is_ready() {
    let api = Api::of(Stack::of_text(TEMPLATE).waits()).await;
    let health = || answer(api.request(Method::GET, "/_local/health"));
    assert_eq!(health().await, (StatusCode::SERVICE_UNAVAILABLE, json!({"status": "starting"})));
    assert_eq!(answer(api.request(Method::GET, "/made")).await.0, 201);
    api.stack.ready();
    let expected = json!({
        "status": "ok",
        "services": ["fail", "hang", "made", "panic", "things"],
        "functions": ["echo", "fail", "panic", "hang", "made"],
        "tables": ["local-Things"],
        "dynamodb": api.stack.dynamo_url(),
        "firehose": api.stack.services_url(),
        "s3": api.stack.services_url(),
        "lake": api.stack.lake(),
    });
    assert_eq!(health().await, (StatusCode::OK, expected));
}

/// The limits apply to the JSON: escaped characters have two or six bytes, and binary bodies are
/// base64.
#[tokio::test]
async fn rejects_an_event_or_an_answer_over_the_limit_of_lambda() {
    let api = Api::start(Auth::Open).await;
    // Three characters in a row, and their bytes in the event.
    for (kind, text, bytes) in [
        ("text/plain", "\"\"\"", 6),
        ("text/plain", "\u{1}\u{1}\u{1}", 18),
        ("text/plain", "üüü", 6),
        ("application/octet-stream", "xxx", 4),
        ("application/octet-stream", "üüü", 8),
    ] {
        // The rest of the event has between 1 and 4 KB.
        for (size, status) in [(6_287_000, 200), (6_291_456, 413)] {
            let request = api.request(Method::POST, "/things/1").header("content-type", kind);
            let (answered, _) = answer(request.body(text.repeat(size / bytes))).await;
            assert_eq!(answered, status, "{kind} {text:?} {size}");
        }
    }
    let frame = json!({"text": "", "repeat": 0}).to_string().len();
    for (size, status) in [(6_291_456, 200), (6_291_457, 413)] {
        let event = json!({"text": "x".repeat(size - frame), "repeat": 0});
        assert_eq!(answer(api.invoke("echo", &event)).await.0, status);
    }
    // The answer is a JSON string. In the second one, each quotation mark has two bytes.
    for (text, most) in [("x", 6_291_554), ("\"", 3_145_777)] {
        for count in [most, most + 1] {
            let response = api.invoke("echo", &json!({"text": text, "repeat": count})).send().await.unwrap();
            let is_over = response.headers().contains_key("x-amz-function-error");
            assert_eq!(is_over, count > most, "{text} {count}");
            if is_over {
                let message = "Response payload size exceeded maximum allowed payload size (6291556 bytes).";
                let expected = json!({"errorMessage": message, "errorType": "Function.ResponseSizeTooLarge"});
                assert_eq!(response.json::<Value>().await.unwrap(), expected);
            }
        }
    }
}

#[tokio::test]
async fn rejects_a_function_that_no_crate_contains() {
    let mut without = handlers();
    let _ = without.remove(0);
    let error = Stack::of_text(TEMPLATE).bound(without).start().await.unwrap_err();
    assert_eq!(error.to_string(), "no crate contains the template's function echo");
}
