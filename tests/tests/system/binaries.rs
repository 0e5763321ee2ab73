//! Tests every deployed binary under AWS's Runtime Interface Emulator and under `cargo lambda
//! watch` (docs/decisions/real-binaries.md).
#![expect(clippy::panic, reason = "a test may stop here")]

use axum::Router;
use futures::future::join_all;
use regex_lite::Regex;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use system_tests::{
    Answer, Client,
    bank::{upload, without_jobs},
    emulator::{Environment, Lambdas, PATIENCE, Place, Port, binary, listening},
    events::{all, event, folder},
    faults::{Fault, Proxy},
    root,
    runtime::log_lines,
    stack, until,
};
use tokio::{
    net::TcpListener,
    process::{Child, Command},
    time::timeout,
};

const DAYS: &str = "from=2099-01-01T00:00:00Z&to=2099-12-31T23:59:59Z";
const PAYMENT: &str = "schedule-payment";

fn text(function: &str) -> String {
    event(function, "").to_string()
}

/// Replaces each generated identifier in responses with a number, in order of appearance. Also
/// replaces the port and the signer of presigned URLs, and the run of an import.
#[derive(Default)]
struct Names(BTreeMap<String, usize>);

impl Names {
    fn hide(&mut self, answer: &Answer) -> (u16, bool, String) {
        let ids = Regex::new("[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}").expect("an expression");
        let place =
            Regex::new("127\\.0\\.0\\.1:[0-9]+|X-Amz-Credential=[^%]+|\\b[0-9A-F]{16}\\b").expect("an expression");
        let text = with_sorted_runs(&answer.body).to_string();
        let text = place.replace_all(&text, "the stack");
        // The two stacks end a job at different times.
        let time = Regex::new("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z").expect("an expression");
        let text = time.replace_all(&text, "a time");
        let hidden = ids.replace_all(&text, |found: &regex_lite::Captures<'_>| {
            let next = self.0.len();
            format!("id {}", self.0.entry(found[0].replace('-', "")).or_insert(next))
        });
        (answer.status, answer.headers.contains_key("x-amz-function-error"), hidden.into_owned())
    }
}

/// Sorts the runs of imports in a response of Lambda. The list has the runs of one second in the
/// order of a hash, so the order of two runs depends on whether a second ends between them.
fn with_sorted_runs(response: &Value) -> Value {
    let mut sorted = response.clone();
    let body = response["body"].as_str().and_then(|body| serde_json::from_str::<Value>(body).ok());
    let Some(mut body) = body else { return sorted };
    let runs = body.get_mut("items").and_then(Value::as_array_mut);
    if let Some(runs) = runs.filter(|runs| runs.iter().all(|run| run["importId"].is_string())) {
        runs.sort_by_key(|run| format!("{} {}", run["importId"], run["status"]));
        sorted["body"] = body;
    }
    sorted
}

/// Returns whether all stream records have been processed.
fn is_drained(streams: &Answer) -> bool {
    streams.body["mappings"].as_array().expect("mappings").iter().all(|mapping| mapping["pending"] == 0)
}

#[tokio::test]
#[ignore = "make test-lambda: needs every binary and the emulator"]
async fn each_event_gets_the_same_response_as_on_the_local_stack() {
    // By default, an erasure waits 16 minutes for new items, and its job keeps the stream busy. The
    // export waits for further records.
    let configured = || stack().parameter("ErasureQuietSeconds", "0").parameter("ExportWindowSeconds", "0");
    let inside = configured().start().await.expect("a stack");
    let (outside, lambdas) = Lambdas::of(configured()).await;
    let clients = [Client::operator(&inside), Client::operator(&outside)];
    let mut names = [Names::default(), Names::default()];
    for stack in [&inside, &outside] {
        stack.create_world(&folder()).await.expect("the worlds");
    }
    for event in all() {
        let (function, event) = (event.function().to_owned(), event);
        let mut answers = Vec::new();
        for (client, names) in clients.iter().zip(&mut names) {
            answers.push(names.hide(&client.invoke(&function, &event.content).await));
            until(client, "/_local/streams", is_drained).await;
        }
        assert_eq!(answers[0], answers[1], "{}", event.name);
        for line in lambdas.logs(&function).concat() {
            assert_eq!(line.get("not JSON"), None, "{function}");
        }
    }
    outside.stop().await;
    lambdas.stop().await;
    inside.stop().await;
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn serves_eight_concurrent_clients() {
    let (stack, lambdas) = Lambdas::stack().await;
    let client = Client::operator(&stack);
    let one = async |number: usize| {
        let path = format!("/bank/accounts/Account{number}/payments");
        for amount in 0..10 {
            let body = json!({"scheduledTime": "2099-12-01T09:30:00Z", "data": {"amount": format!("{amount}.00")}});
            let answer = client.post(&path, &body).await;
            assert_eq!(answer.status, 201, "{}", answer.body);
        }
        let (items, _) = client.all(&format!("{path}?{DAYS}&limit=3")).await;
        assert_eq!(items.len(), 10, "{path}");
    };
    join_all((0..8).map(one)).await;
    let (due, _) = client.all("/bank/payments/due?date=2099-12-01&limit=10").await;
    assert_eq!(due.len(), 80);
    let logs = lambdas.logs("schedule-payment");
    assert!((1..=8).contains(&logs.len()), "{} environments", logs.len());
    assert_eq!(logs.iter().flatten().filter(|line| line["fields"]["message"] == "answered").count(), 80);
    stack.stop().await;
    lambdas.stop().await;
}

/// The error lines of the log that contain a reason.
fn whys(environment: &Environment) -> Vec<Value> {
    let lines = environment.log();
    lines.into_iter().filter(|line| line["level"] == "ERROR" && line["fields"]["why"].is_string()).collect()
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn processes_an_event_after_a_crash() {
    let stack = stack().start().await.expect("a stack");
    let place = Place::of(&stack, "schedule-payment");
    let faulty = Environment::start(&binary("faulty"), &place).await;
    let well = Ok(json!("nothing went wrong"));
    for (wish, kind) in
        [("panic", "&alloc::boxed::Box<dyn core::any::Any + core::marker::Send>"), ("exit", ""), ("memory", "")]
    {
        let error = faulty.invoke(json!({"wish": wish}).to_string()).await.expect_err(wish);
        assert_eq!(error.error_type, if kind.is_empty() { "Runtime.ExitError" } else { kind }, "{error:?}");
        assert_eq!(faulty.invoke("{}").await, well, "after {wish}");
    }
    let whys = whys(&faulty);
    assert_eq!(whys.len(), 1, "{whys:?}");
    assert_eq!(whys[0]["fields"]["why"], "a requested panic");
    assert!(whys[0]["fields"]["at"].as_str().is_some_and(|at| at.contains("faulty.rs:")), "{whys:?}");
    faulty.stop().await;
    stack.stop().await;
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn logs_one_line_per_event_without_payment_data() {
    let stack = stack().start().await.expect("a stack");
    let environment = Environment::start(&binary("schedule-payment"), &Place::of(&stack, "schedule-payment")).await;
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let answer = environment.invoke(text(PAYMENT)).await.expect("an answer");
        bodies.push(answer["body"].as_str().expect("a body").to_owned());
    }
    assert_eq!(bodies[0], bodies[1], "a repeated event gets the first response");
    let log = environment.log();
    let logged = serde_json::to_string(&log).expect("JSON");
    let answered: Vec<String> = log
        .iter()
        .filter(|line| line["fields"]["message"] == "answered")
        .map(|line| line["spans"].to_string())
        .collect();
    assert_eq!(answered.len(), 2, "{logged}");
    for (spans, cold) in answered.iter().zip(["\"cold_start\":true", "\"cold_start\":false"]) {
        assert!(
            [cold, "\"request_id\":\"", "\"function\":\"schedule-payment\""].iter().all(|part| spans.contains(part))
        );
    }
    let is_consumption = |line: &&Value| line["Table"] == "local-PaymentScheduler" && line["Index"] == "GSI1";
    assert!(log.iter().find(is_consumption).is_some_and(|line| line.get("WriteUnits").is_some()), "{logged}");
    let is_latency = |line: &Value| line.get("LatencyMs").is_some() && line["Function"] == "schedule-payment";
    assert!(log.iter().any(is_latency), "{logged}");
    let body: Value = serde_json::from_str(&bodies[0]).expect("JSON");
    for secret in [&body["accountId"], &body["paymentId"], &body["data"]] {
        assert!(!logged.contains(secret.to_string().trim_matches('"')), "the log contains {secret}: {logged}");
    }
    environment.stop().await;
    stack.stop().await;
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn processes_an_event_after_an_unreadable_event() {
    let stack = stack().start().await.expect("a stack");
    for function in [PAYMENT, "export-changes", "archive-settled-payments"] {
        let good = text(function);
        let environment = Environment::start(&binary(function), &Place::of(&stack, function)).await;
        let mut errors = 0;
        // Lambda accepts events of at most 6 MB.
        for bad in ["", "nonsense", "{\"no\": \"event\"}", "[]", &"[".repeat(6_000_000), "\u{0}"] {
            let answer = environment.invoke(bad.to_owned()).await;
            // A function of a route answers 400 to JSON that is not a request.
            let is_rejected = answer.as_ref().map_or(true, |answer| answer["statusCode"] == 400);
            assert!(is_rejected, "{function} {bad:.20}: {answer:?}");
            errors += 1;
            let answer = environment.invoke(good.clone()).await;
            assert!(answer.is_ok(), "{function} after {bad:.20}: {answer:?}");
        }
        let lines = environment.log();
        let said = lines.iter().filter(|line| line["level"] == "ERROR" || line["fields"]["message"] == "refused");
        assert!(said.count() >= errors, "{function}: {lines:?}");
        assert!(lines.iter().all(|line| line.get("not JSON").is_none()), "{function}: {lines:?}");
        environment.stop().await;
    }
    stack.stop().await;
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn rejects_a_body_of_maximum_size_within_the_memory_limit() {
    let stack = stack().start().await.expect("a stack");
    let environment = Environment::start(&binary("schedule-payment"), &Place::of(&stack, "schedule-payment")).await;
    let mut event = event(PAYMENT, "");
    for body in ["x".repeat(6_000_000), format!("{{\"data\": {}", "[".repeat(5_900_000))] {
        event["body"] = body.into();
        let answer = environment.invoke(event.to_string()).await.expect("an answer");
        assert_eq!(answer["statusCode"], 413, "{answer}");
        let answer = environment.invoke(text(PAYMENT)).await.expect("an answer");
        assert_eq!(answer["statusCode"], 201, "{answer}");
    }
    environment.stop().await;
    stack.stop().await;
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn logs_a_missing_setting_and_exits() {
    let stack = stack().start().await.expect("a stack");
    for lambda in &stack.template().lambdas {
        let mut place = Place::of(&stack, &lambda.name);
        place.settings.retain(|setting, _| !lambda.environment.contains_key(setting));
        let environment = Environment::start(&binary(&lambda.name), &place).await;
        let error = environment.invoke("{}").await.expect_err("a function without settings");
        assert_eq!(error.error_type, "Runtime.ExitError", "{error:?}");
        let lines = environment.log();
        assert!(!lines.is_empty(), "{}", lambda.name);
        for line in lines {
            let why = line["fields"]["why"].as_str().unwrap_or_default();
            assert!(why.contains(" is missing"), "{}: {line}", lambda.name);
        }
        environment.stop().await;
    }
    stack.stop().await;
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn reads_credentials_from_the_container_credentials_url() {
    let stack = stack().start().await.expect("a stack");
    let credentials = json!({
        "AccessKeyId": "key", "SecretAccessKey": "secret", "Token": "token", "Expiration": "2099-12-01T09:30:00Z",
    });
    let asked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&asked);
    let route = axum::routing::get(async move || {
        seen.store(true, Ordering::Relaxed);
        ([("content-type", "application/json")], credentials.to_string())
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/credentials", listener.local_addr().expect("an address"));
    let server = tokio::spawn(async { axum::serve(listener, Router::new().route("/credentials", route)).await });
    let mut place = Place::of(&stack, "schedule-payment").with("AWS_CONTAINER_CREDENTIALS_FULL_URI", &url);
    place.settings.retain(|setting, _| !["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].contains(&setting.as_str()));
    let environment = Environment::start(&binary("schedule-payment"), &place).await;
    let answer = environment.invoke(text(PAYMENT)).await.expect("an answer");
    assert_eq!((&answer["statusCode"], asked.load(Ordering::Relaxed)), (&json!(201), true), "{answer}");
    environment.stop().await;
    server.abort();
    stack.stop().await;
}

/// Starts `cargo lambda watch` with the arguments and the environment. Returns the process and its
/// port.
async fn cargo_lambda(arguments: &[&str], settings: &BTreeMap<String, String>) -> (Child, Port) {
    let path = std::env::var_os("CARGO_LAMBDA").expect("CARGO_LAMBDA, which `make test-lambda` sets");
    // With another setting of incremental compilation, cargo would compile our own crates again.
    let cargos = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "CARGO_INCREMENTAL"];
    let cargos = cargos.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    for _ in 0..10 {
        let port = Port::free();
        let mut command = Command::new(&path);
        command.env_clear().envs(settings).envs(cargos.clone()).current_dir(root()).kill_on_drop(true);
        command.args(["lambda", "watch", "--ignore-changes", "--quiet", "--invoke-address", "127.0.0.1"]);
        command.args(["--invoke-port", &port.number().to_string()]).args(arguments).stdout(Stdio::null());
        let mut child = command.spawn().expect("cargo lambda");
        if listening(&[&port], &mut child).await {
            return (child, port);
        }
    }
    panic!("cargo lambda watch does not start")
}

/// Schedules eight payments concurrently.
async fn eight_payments(port: &Port) {
    let url = format!("http://127.0.0.1:{}/2015-03-31/functions/schedule-payment/invocations", port.number());
    let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client");
    let mut event = event(PAYMENT, "");
    let calls = (0..8).map(|number| {
        event["headers"]["idempotency-key"] = format!("key-{number}").into();
        let request = http.post(&url).body(event.to_string());
        async { request.send().await.expect("an answer").json::<Value>().await.expect("JSON") }
    });
    for answer in join_all(calls.collect::<Vec<_>>()).await {
        assert_eq!(answer["statusCode"], 201, "{answer}");
    }
}

/// Releases the held writes to DynamoDB after eight payments have arrived. If the function did not
/// process events concurrently, at most one payment would arrive.
async fn release_eight(proxy: &Proxy) {
    let arrived = || proxy.calls().into_iter().map(|call| call.body["Item"].to_string()).collect::<BTreeSet<_>>().len();
    while arrived() < 8 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    proxy.release();
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn one_process_serves_concurrent_events_of_a_managed_instance() {
    let stack = stack().start().await.expect("a stack");
    let proxy = Proxy::start(stack.dynamo_url()).await;
    let (mut watch, port) = cargo_lambda(&["--only-lambda-apis"], &BTreeMap::new()).await;
    let place = Place::of(&stack, "schedule-payment")
        .with("AWS_ENDPOINT_URL_DYNAMODB", proxy.url())
        .with("AWS_LAMBDA_RUNTIME_API", &format!("http://127.0.0.1:{}/.rt/schedule-payment", port.number()))
        .with("AWS_LAMBDA_MAX_CONCURRENCY", "8");
    let mut process = Command::new(binary("schedule-payment"));
    process.env_clear().envs(place.settings).stdout(Stdio::piped()).kill_on_drop(true);
    let process = process.spawn().expect("a function");
    proxy.rule(|call| if call.action == "PutItem" { Fault::Held } else { Fault::None });
    tokio::join!(eight_payments(&port), timeout(PATIENCE, release_eight(&proxy))).1.expect("eight concurrent payments");
    let log = log_lines(process).await;
    assert_eq!(log.iter().filter(|line| line["fields"]["message"] == "answered").count(), 8, "{log:?}");
    assert!(log.iter().all(|line| line.get("not JSON").is_none()), "{log:?}");
    watch.kill().await.expect("cargo lambda");
    stack.stop().await;
}

#[tokio::test]
#[ignore = "make test-lambda"]
async fn eight_processes_serve_eight_concurrent_events() {
    let stack = stack().start().await.expect("a stack");
    let place = Place::of(&stack, "schedule-payment");
    let (mut watch, port) = cargo_lambda(&["--concurrency", "8"], &place.settings).await;
    eight_payments(&port).await;
    // The functions exit by themselves, because the Runtime API is gone.
    watch.kill().await.expect("cargo lambda");
    stack.stop().await;
}

/// Writes a file of 1 GB with lines that are too long, lines that are not JSON, and a few payments.
/// Returns the number of payments and of other lines.
fn write_gigabyte(path: &Path) -> (u64, u64) {
    let mut file = BufWriter::new(File::create(path).expect("a file"));
    let (long, nonsense) = ("x".repeat(60_000), "y".repeat(15_000));
    let (mut size, mut rejected, mut payments) = (0, 0, 0_u64);
    while size < 1 << 30 {
        let payment = json!({"id": format!("L-{payments}"), "accountId": "A-1", "scheduledTime": "2099-12-01T09:30:00Z",
            "data": {"amount": "1.00", "currency": "USD"}});
        let lines = format!("{long}\n{}{payment}\n", format!("{nonsense}\n").repeat(60));
        file.write_all(lines.as_bytes()).expect("written");
        (size, rejected, payments) = (size + lines.len(), rejected + 61, payments + 1);
    }
    file.flush().expect("written");
    (payments, rejected)
}

/// Peak resident memory of the processes of a binary, in KB.
fn peak(binary: &Path) -> u64 {
    let binary = binary.canonicalize().expect("a binary");
    let processes = std::fs::read_dir("/proc").expect("processes").flatten().map(|entry| entry.path());
    let own = processes.filter(|process| std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == binary));
    let status = own.filter_map(|process| std::fs::read_to_string(process.join("status")).ok());
    let peaks = status.filter_map(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:").map(str::to_owned))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    });
    peaks.max().expect("a process")
}

#[tokio::test]
#[ignore = "make test-lambda: needs every binary and the emulator"]
async fn a_gigabyte_is_imported_and_short_lines_are_checked_within_256_mb() {
    const LIMIT: i32 = 256;
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let bucket = stack.inbox().expect("a bucket");
    let folder = stack.lake().join(bucket).join("inbox");
    std::fs::create_dir_all(&folder).expect("a folder");
    let (payments, rejected) = write_gigabyte(&folder.join("large.jsonl"));
    let object = reqwest::Client::new().head(format!("{}/{bucket}/inbox/large.jsonl", stack.services_url()));
    let object = object.send().await.expect("an object");
    let tag = object.headers()["etag"].to_str().expect("a tag").to_owned();
    let event = json!({"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": {
        "bucket": {"name": bucket},
        "object": {"key": "inbox/large.jsonl", "size": 1 << 30, "eTag": tag, "sequencer": "01"},
    }}]});
    client.invoke("import-payments", &event).await;
    let (import, peak) = import_within(LIMIT, &stack, "large").await;
    println!("the import of 1 GB used at most {} MB", peak / 1024);
    let numbers = [&import["status"], &import["scheduled"], &import["rejected"]];
    assert_eq!(numbers, [&json!("done"), &json!(payments), &json!(rejected)], "{import}");
    // The check of control totals reads half a million lines at a time.
    let lines = "x\n".repeat(4 << 20);
    upload(&stack, "inbox/short.jsonl", &[("expected-sum", "1.00 USD")], lines).await;
    let (import, peak) = import_within(LIMIT, &stack, "short").await;
    println!("the check of 8 MB of short lines used at most {} MB", peak / 1024);
    assert_eq!(import["status"], "failed", "{import}");
    assert!(peak < 64 * 1024, "{peak} KB");
    stack.stop().await;
}

/// Imports a file with a function that cannot allocate more than `limit` MB, which is stricter than
/// Lambda's limit. Returns the import and the peak in KB.
async fn import_within(limit: i32, stack: &local::Stack, name: &str) -> (Value, u64) {
    let client = Client::operator(stack);
    let path = format!("/bank/imports/{name}");
    let started = until(&client, &path, |answer| answer.status == 200).await.body;
    let run = started["run"].as_str().expect("a run");
    let place = Place { memory: limit, ..Place::of(stack, "continue-bank-job") };
    let binary = binary("continue-bank-job");
    let environment = Environment::start(&binary, &place).await;
    let keys = json!({"PK": {"S": format!("IMPORT#{name}")}, "SK": {"S": format!("RUN#{run}")}});
    let step = json!({"Records": [{"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": keys}}]});
    let mut import = Value::Null;
    for _ in 0..100 {
        let answer = environment.invoke(step.to_string()).await.expect("no crash");
        assert_eq!(answer["batchItemFailures"], json!([]), "{answer}");
        import = client.get(&path).await.body;
        if import["status"] != "running" {
            break;
        }
    }
    let peak = peak(&binary);
    assert!(peak < u64::try_from(limit).expect("a size") * 1024, "{peak} KB");
    environment.stop().await;
    (import, peak)
}
