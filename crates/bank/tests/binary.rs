//! Runs a binary against an emulated Lambda Runtime API, and checks its log. After the init phase,
//! the binary gets a valid event, an invalid event and another valid event.

use serde_json::{Value, json};
use system_tests::{
    root,
    runtime::{self, Runtime, log_lines},
    stack,
};
use tokio::process::Command;

fn lambda(address: &str, dynamo: &str) -> Command {
    let environment = [
        ("AWS_ENDPOINT_URL_DYNAMODB", dynamo),
        ("PAYMENTS_TABLE", "local-PaymentScheduler"),
        ("TRANSACTIONS_TABLE", "local-TransactionHistory"),
        ("WRITE_SHARDS", "5"),
        ("READ_SHARDS", "5"),
        ("DUE_INDEX", "GSI1"),
        ("BANK_JOBS_TABLE", "local-BankJobs"),
        ("TRANSACTION_SERVICE", "none"),
        ("OVERDUE_MINUTES", "30"),
    ];
    runtime::command(env!("CARGO_BIN_EXE_schedule-payment"), "schedule-payment", address, &environment)
}

#[tokio::test]
async fn recovers_from_an_invalid_event_and_logs_no_payment_data() {
    let stack = stack().start().await.expect("a stack");
    let mut runtime = Runtime::start().await;
    let child = lambda(&runtime.address, stack.dynamo_url()).spawn().expect("a Lambda");
    let event = std::fs::read_to_string(root().join("events/bank/schedule-payment.json")).expect("an event");

    let (outcome, answer) = runtime.invoke(event.clone()).await;
    assert_eq!((outcome, &answer["statusCode"]), ("response", &json!(201)), "{answer}");
    let (outcome, invalid) = runtime.invoke("{\"no\": \"event\"}".to_owned()).await;
    assert_eq!((outcome, &invalid["statusCode"]), ("response", &json!(400)), "{invalid}");
    let (outcome, again) = runtime.invoke(event).await;
    assert_eq!((outcome, &again["body"]), ("response", &answer["body"]), "a repeated event gets the first response");

    let log = log_lines(child).await;
    let text = serde_json::to_string(&log).expect("JSON");
    let answered: Vec<&Value> = log.iter().filter(|line| line["fields"]["message"] == "answered").collect();
    assert_eq!(answered.len(), 2, "{text}");
    let spans = |line: &Value, name: &str| line["spans"].to_string().contains(name);
    assert!(spans(answered[0], "\"cold_start\":true") && spans(answered[1], "\"cold_start\":false"), "{text}");
    assert!(
        spans(answered[0], "\"request_id\":\"8476a536") && spans(answered[0], "\"function\":\"schedule-payment\""),
        "{text}"
    );
    assert!(
        log.iter().any(|line| line["Table"] == "local-PaymentScheduler"
            && line["Index"] == "GSI1"
            && line.get("WriteUnits").is_some()),
        "{text}"
    );
    assert!(log.iter().any(|line| line.get("LatencyMs").is_some() && line["Function"] == "schedule-payment"), "{text}");
    let body: Value = serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON");
    for secret in [body["accountId"].to_string(), body["paymentId"].to_string(), body["data"].to_string()] {
        assert!(!text.contains(secret.trim_matches('"')), "the log contains {secret}: {text}");
    }
    assert!(!text.contains("not JSON"), "{text}");
    stack.stop().await;
}

#[tokio::test]
async fn logs_invalid_settings_and_exits() {
    let output = lambda("127.0.0.1:9", "http://127.0.0.1:9")
        .env_remove("WRITE_SHARDS")
        .env("DUE_INDEX", "GSI7")
        .output()
        .await
        .expect("an exit");
    assert!(!output.status.success());
    let line: Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
    let why = line["fields"]["why"].to_string();
    assert!(why.contains("WRITE_SHARDS is missing") && line["level"] == "ERROR", "{line}");
}
