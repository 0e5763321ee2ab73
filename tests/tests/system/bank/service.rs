//! Tests of the services that execute payments, and of the executor that calls them
//! (docs/decisions/execution.md): what a call contains, what an answer means, and which accounts a
//! payment changes. Further tests check the sizes and the sums of payments.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_firehose::config::{Credentials, SharedCredentialsProvider};
use bank::{
    Execution, MAX_REASON, Payment, Transaction,
    service::{HttpService, LedgerService, Order, Outcome, Reason, TransactionService},
};
use function::{Clients, Deadline, Settings, SettingsError, SettingsReader};
use jiff::{SignedDuration, Timestamp};
use keys::{AccountId, RequestId, TimestampMillis, bank::Status};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use system_tests::{
    Client,
    bank::{handed_over, inserted, payment, payments, put, scheduled_at, without_jobs},
    drained,
    ledger::Books,
    parsed, random, stack, text,
};
use table::Dynamo;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};

const EXECUTE: &str = "execute-payment";
const NOW: &str = "2099-12-01T09:30:00Z";

/// A request as the server received it.
#[derive(Debug, Clone)]
struct Call {
    /// Names and values of the headers, in lower case and as received.
    headers: Vec<(String, String)>,
    body: Value,
}

impl Call {
    fn header(&self, name: &str) -> &str {
        let header = self.headers.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

/// The answer to a request.
enum Reply {
    /// Sends these bytes.
    Bytes(Vec<u8>),
    /// Sends these bytes when a second call has arrived, or after ten seconds.
    Together(Vec<u8>),
    /// Sends these bytes, and then nothing more.
    Stuck(Vec<u8>),
    /// Closes the connection.
    Closed,
}

type Script = Box<dyn FnMut(usize, &Call) -> Reply + Send>;

struct Heard {
    script: Script,
    calls: Vec<Call>,
}

/// A server that answers each request by a script. Its answers are bytes, so it can break the rules
/// of HTTP.
struct Server {
    url: String,
    heard: Arc<Mutex<Heard>>,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(script: impl FnMut(usize, &Call) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/pay", listener.local_addr().expect("an address"));
        let heard = Arc::new(Mutex::new(Heard { script: Box::new(script), calls: Vec::new() }));
        let kept = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&kept)));
            }
        });
        Self { url, heard, task }
    }

    /// Sets the answers from now on, and forgets the calls.
    fn rule(&self, script: impl FnMut(usize, &Call) -> Reply + Send + 'static) {
        *lock(&self.heard) = Heard { script: Box::new(script), calls: Vec::new() };
    }

    fn calls(&self) -> Vec<Call> {
        lock(&self.heard).calls.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(stream: TcpStream, heard: Arc<Mutex<Heard>>) {
    let mut stream = BufReader::new(stream);
    while let Some(call) = read(&mut stream).await {
        let reply = {
            let mut heard = lock(&heard);
            heard.calls.push(call.clone());
            let number = heard.calls.len();
            (heard.script)(number, &call)
        };
        let sent = match reply {
            Reply::Bytes(bytes) => stream.write_all(&bytes).await,
            Reply::Together(bytes) => {
                for _ in 0..10_000 {
                    if lock(&heard).calls.len() > 1 {
                        break;
                    }
                    sleep(Duration::from_millis(1)).await;
                }
                stream.write_all(&bytes).await
            }
            Reply::Stuck(bytes) => {
                let _ = stream.write_all(&bytes).await;
                return std::future::pending().await;
            }
            Reply::Closed => return,
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Call> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => headers.extend(line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()))),
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").map_or("0", |(_, value)| value);
    let mut body = vec![0; length.parse().ok()?];
    stream.read_exact(&mut body).await.ok()?;
    Some(Call { headers, body: serde_json::from_slice(&body).ok()? })
}

fn answer(status: u16, body: &str) -> Vec<u8> {
    let more = if (300..400).contains(&status) { "location: http://127.0.0.1:1/elsewhere\r\n" } else { "" };
    format!("HTTP/1.1 {status} any\r\n{more}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn paid(number: usize) -> Vec<u8> {
    answer(201, &json!({"transactionId": format!("T-{number}"), "more": true}).to_string())
}

fn completed(number: usize) -> Outcome {
    Outcome::Completed(parsed(&format!("T-{number}")))
}

fn clients() -> Clients {
    let credentials = SharedCredentialsProvider::new(Credentials::new("key", "secret", None, None, "test"));
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(credentials)
        .build();
    let nowhere = config.to_builder().endpoint_url("http://127.0.0.1:1").build();
    Clients::new(Dynamo::new(&aws_sdk_dynamodb::Client::new(&nowhere), random()), config)
}

fn started<T, const N: usize>(
    settings: [(&str, &str); N],
    start: impl FnOnce(&mut SettingsReader<'_>) -> Option<T>,
) -> Result<T, SettingsError> {
    let settings: Settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    settings.read(start)
}

/// A service at this URL, whose secret is in this Secrets Manager.
fn http_service(url: &str, secrets: &str, seconds: &str) -> Result<HttpService, SettingsError> {
    let settings = [
        ("TRANSACTION_SERVICE_URL", url),
        ("TRANSACTION_SERVICE_SECRET_ARN", "arn:secret"),
        ("TRANSACTION_SERVICE_TIMEOUT", seconds),
    ];
    started(settings, |reader| HttpService::start(reader, &clients().at("secretsmanager", secrets)))
}

/// A service, and a Secrets Manager with one secret, whose value is `secret-` and the number of the
/// call.
struct Scene {
    server: Server,
    secrets: Server,
    service: HttpService,
}

impl Scene {
    async fn start(seconds: &str) -> Self {
        let server = Server::start(|number, _| Reply::Bytes(paid(number))).await;
        let secrets = Server::start(|number, call| {
            assert_eq!(call.header("x-amz-target"), "secretsmanager.GetSecretValue");
            assert_eq!(call.body["SecretId"], "arn:secret");
            Reply::Bytes(answer(200, &json!({"SecretString": format!("secret-{number}\n")}).to_string()))
        })
        .await;
        let service = http_service(&server.url, &secrets.url, seconds).expect("a service");
        Self { server, secrets, service }
    }

    async fn pay(&self, payment: &Payment) -> Outcome {
        let now: TimestampMillis = parsed("2099-12-01T09:30:00.000Z");
        let (random, until) = (random(), Deadline::after(Duration::from_mins(1)));
        self.service.execute(&Order { payment, by_operator: false, now, until, random: &random }).await
    }

    /// The outcome if the server answers so.
    async fn outcome(&self, reply: impl FnMut(usize, &Call) -> Reply + Send + 'static) -> Outcome {
        self.server.rule(reply);
        self.pay(&with_data(r#"{"to": "IBAN"}"#)).await
    }
}

fn with_data(data: &str) -> Payment {
    let data = serde_json::from_value(data.into()).expect("JSON");
    Payment { data, ..payment("A-own", NOW, Status::Pending, 0) }
}

fn is_unknown(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Unavailable(_))
}

#[tokio::test]
async fn a_payment_is_posted_under_its_id() {
    let scene = Scene::start("30").await;
    let payment = with_data(r#"{"to": "IBAN"}"#);
    scene.server.rule(|number, _| Reply::Bytes(paid(number)));
    assert_eq!(scene.pay(&payment).await, completed(1));
    let calls = scene.server.calls();
    let (id, call) = (payment.id().to_string(), &calls[0]);
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!((call.header("idempotency-key"), call.header("authorization")), (id.as_str(), "Bearer secret-1"));
    assert_eq!(call.header("content-type"), "application/json");
    let body = json!({"paymentId": id, "accountId": "A-own", "scheduledTime": NOW, "data": {"to": "IBAN"}});
    assert_eq!(call.body, body);
    // A second answer is not the answer to the next payment.
    scene.server.rule(|number, _| Reply::Bytes([paid(number), paid(number)].concat()));
    for number in 1..=5 {
        assert_eq!(scene.pay(&payment).await, completed(number));
    }
}

#[tokio::test]
async fn only_final_statuses_reject_a_payment() {
    let scene = Scene::start("30").await;
    let body = json!({"detail": "No such\naccount.", "title": "Other"}).to_string();
    for status in [400, 404, 410, 422] {
        let bytes = answer(status, &body);
        let outcome = scene.outcome(move |_, _| Reply::Bytes(bytes.clone())).await;
        assert_eq!(outcome, Outcome::rejected(&format!("The transaction service answered {status}. No such account.")));
    }
    for status in [301, 302, 307, 308, 401, 402, 403, 405, 408, 409, 413, 418, 425, 429, 451, 500, 501, 502, 503, 504] {
        let bytes = answer(status, &body);
        let outcome = scene.outcome(move |_, _| Reply::Bytes(bytes.clone())).await;
        assert!(is_unknown(&outcome), "{status}: {outcome:?}");
        let calls = scene.server.calls();
        assert!(calls.len() == 1 || matches!(status, 401 | 403), "{status} was repeated: {calls:?}");
    }
    // A rejection needs no readable body.
    for body in ["", "null", "<html></html>", r#"{"detail": 7}"#, &"x".repeat(1024 * 1024)] {
        let bytes = answer(422, body);
        let outcome = scene.outcome(move |_, _| Reply::Bytes(bytes.clone())).await;
        assert_eq!(outcome, Outcome::rejected("The transaction service answered 422."));
    }
}

#[tokio::test]
async fn an_answer_without_a_valid_transaction_id_is_no_outcome() {
    let scene = Scene::start("30").await;
    let long = json!({"transactionId": "T".repeat(129)}).to_string();
    let huge = json!({"transactionId": "T-1", "more": "x".repeat(16 * 1024)}).to_string();
    for body in [
        "",
        "{}",
        "null",
        "[]",
        r#"["T-1"]"#,
        r#" ["T-1"]"#,
        "T-1",
        r#"{"transactionId": 1}"#,
        r#"{"transactionId": ""}"#,
        r#"{"transactionId": "T 1"}"#,
        r#"{"transactionId": "T-1""#,
        r#"{"transaction_id": "T-1"}"#,
        r#"{"transactionId": "T-1", "transactionId": "T-2"}"#,
        "\u{0}",
        "<html></html>",
        &long,
        &huge,
    ] {
        let bytes = answer(200, body);
        let outcome = scene.outcome(move |_, _| Reply::Bytes(bytes.clone())).await;
        assert!(is_unknown(&outcome), "{body}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_unavailable() {
    let scene = Scene::start("1").await;
    let endless = b"HTTP/1.1 200 any\r\ncontent-length: 1000\r\n\r\n{".to_vec();
    for bytes in [Vec::new(), b"HTTP/1.1 200".to_vec(), endless] {
        let outcome = scene.outcome(move |_, _| Reply::Stuck(bytes.clone())).await;
        assert!(is_unknown(&outcome), "{outcome:?}");
    }
    let outcome = scene.outcome(|_, _| Reply::Closed).await;
    assert!(is_unknown(&outcome), "{outcome:?}");
    let outcome = scene.outcome(|_, _| Reply::Bytes(b"not HTTP\r\n\r\n".to_vec())).await;
    assert!(is_unknown(&outcome), "{outcome:?}");
}

#[tokio::test]
async fn the_secret_is_read_once_and_again_when_it_is_rejected() {
    let scene = Scene::start("30").await;
    scene.server.rule(|number, call| match (number, call.header("authorization")) {
        (1..=3, "Bearer secret-1") | (_, "Bearer secret-2") => Reply::Bytes(paid(number)),
        _ => Reply::Bytes(answer(403, "")),
    });
    scene.service.warm_up().await;
    let payment = with_data("1");
    for number in 1..=3 {
        assert_eq!(scene.pay(&payment).await, completed(number));
    }
    assert_eq!(scene.secrets.calls().len(), 1);
    // The fourth call is rejected, and the fifth has the new secret.
    assert_eq!(scene.pay(&payment).await, completed(5));
    assert_eq!((scene.secrets.calls().len(), scene.server.calls().len()), (2, 5));
    let shown = format!("{:?}", scene.service);
    assert!(!shown.contains("secret-"), "{shown}");
}

#[tokio::test]
async fn without_a_secret_no_call_is_made() {
    let scene = Scene::start("30").await;
    for body in [json!({}), json!({"SecretString": ""})] {
        scene.secrets.rule(move |_, _| Reply::Bytes(answer(200, &body.to_string())));
        let outcome = scene.pay(&with_data("1")).await;
        assert!(is_unknown(&outcome), "{outcome:?}");
    }
    assert!(scene.server.calls().is_empty());
}

#[tokio::test]
async fn the_url_of_the_service_must_be_https() {
    let is_valid = |url: &str| http_service(url, "http://127.0.0.1:1", "1").is_ok();
    for good in
        ["https://pay.example", "https://pay.example:8443/v1?x=1", "http://127.0.0.1:9000/", "http://localhost/"]
    {
        assert!(is_valid(good), "{good}");
    }
    for bad in [
        "",
        "pay.example",
        "/pay",
        "http://pay.example",
        "http://127.0.0.1.example",
        "ftp://pay.example",
        "https://",
        "https://a b",
    ] {
        assert!(!is_valid(bad), "{bad}");
    }
}

#[test]
fn a_reason_is_one_bounded_line() {
    let unknown = "The transaction service gave no reason.";
    for (given, stored) in [
        ("No funds.", "No funds."),
        (" two\n\tlines \u{202e}", "two lines"),
        ("", unknown),
        ("\u{0}\u{200b}", unknown),
        (&"é".repeat(10_000), &"é".repeat(128)),
    ] {
        assert_eq!(Reason::new(given).text(), stored);
    }
}

static LEDGER: LazyLock<LedgerService> = LazyLock::new(|| {
    let settings = [("LEDGER_TABLE", "T"), ("STATUS_WRITE_SHARDS", "1")];
    started(settings, |reader| LedgerService::start(reader, &clients())).expect("a service")
});

/// The accounts that a payment of `A-own` changes in the ledger. A payment that cannot be paid
/// changes only its own.
fn accounts(data: &str, by_operator: bool) -> Vec<String> {
    let accounts = LEDGER.accounts(&Payment { by_operator, ..with_data(data) });
    accounts.iter().map(AccountId::to_string).collect()
}

#[test]
fn data_says_what_to_pay() {
    let data = json!({"creditAccountId": "B", "amount": "12.50", "currency": "USD", "note": {"any": ["thing"]}});
    assert_eq!(accounts(&data.to_string(), false), ["A-own", "B"]);
    for bad in [
        "null",
        "\"text\"",
        "12.50",
        "[]",
        "{}",
        r#"["B", "12.50", "USD", "C"]"#,
        r#"["B", "12.50", "USD", null]"#,
        r#"{"creditAccountId": "B", "amount": "12.50"}"#,
        r#"{"creditAccountId": "B", "currency": "USD"}"#,
        r#"{"amount": "12.50", "currency": "USD"}"#,
        r#"{"creditAccountId": "", "amount": "12.50", "currency": "USD"}"#,
        r#"{"creditAccountId": "B", "amount": "12.505", "currency": "USD"}"#,
        r#"{"creditAccountId": "B", "amount": "NaN", "currency": "USD"}"#,
        r#"{"creditAccountId": "B", "amount": 1e400, "currency": "USD"}"#,
        r#"{"creditAccountId": "B", "amount": "12.50", "currency": "XXL"}"#,
        r#"{"creditAccountId": "B", "amount": "1", "currency": "USD", "amount": "2"}"#,
        r#"{"creditAccountId": "B", "amount": "1", "currency": "USD", "debitAccountId": "A-own", "debitAccountId": "C"}"#,
    ] {
        assert_eq!(accounts(bad, true), ["A-own"], "{bad}");
    }
    let of_another = json!({"creditAccountId": "B", "debitAccountId": "C", "amount": 5, "currency": "USD"}).to_string();
    assert_eq!(accounts(&of_another, true), ["A-own", "B", "C"], "an operator names the account to debit");
    assert_eq!(accounts(&of_another, false), ["A-own"]);
}

/// Any value of `debitAccountId`, and members that look like it.
fn debit() -> impl Strategy<Value = Value> {
    prop_oneof![
        "A-own|A-other|a-own|A-own |\u{200b}A-own|A-öwn|.{0,20}".prop_map(Value::String),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        Just(json!(["A-other"])),
        Just(json!({"accountId": "A-other"})),
    ]
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "debitAccountId",
        "debitaccountid",
        "DebitAccountId",
        "debit_account_id",
        "debitAccountId ",
        "debit\\u0041ccountId",
        "accountId",
        "from",
    ])
}

proptest! {
    #[test]
    fn a_customer_cannot_debit_another_account(members in prop::collection::vec((name(), debit()), 0..4), rest in 0_usize..3) {
        let mut parts: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        let own = ["\"creditAccountId\": \"B\"", "\"amount\": \"1.00\"", "\"currency\": \"USD\""].map(str::to_owned);
        let at = parts.len().min(rest);
        parts.splice(at..at, own);
        let data = format!("{{{}}}", parts.join(", "));
        prop_assert!(accounts(&data, false).iter().all(|account| ["A-own", "B"].contains(&account.as_str())), "{}", data);
    }

    #[test]
    fn every_text_makes_a_reason(text in any::<String>()) {
        let reason = Reason::new(&text);
        prop_assert!(!reason.text().is_empty() && reason.text().len() <= MAX_REASON);
    }
}

/// The largest accepted payment has room for the attributes of a `PROCESSED` one (cost.rs).
#[test]
fn no_later_state_of_a_payment_is_larger_than_processed() {
    let time = parsed(NOW);
    let mut processed = payment("A-1", NOW, Status::Processed, 0);
    processed.transaction_id = Some(parsed(&"\u{1F4B6}".repeat(128)));
    processed.moved_by = Some(RequestId::new(Timestamp::now(), &random()));
    (processed.dispatched_at, processed.settled_at) = (Some(time), Some(time));
    (processed.attempts, processed.version) = (99, 9_999);
    processed.retry_of = Some(processed.id());
    let bytes = table::size(&processed).expect("a size");
    let failure_reason = Some("x".repeat(MAX_REASON));
    let mut failed = Payment { transaction_id: None, failure_reason, ..processed.clone() };
    failed.due.status = Status::Failed;
    let (execution, next_attempt_at) = (Some(Execution::Exhausted), Some(time));
    let mut pending = Payment { settled_at: None, execution, next_attempt_at, ..failed.clone() };
    pending.due.status = Status::Pending;
    for other in [failed, pending] {
        assert!(table::size(&other).expect("a size") < bytes, "{other:?}");
    }
    let archived = Transaction::archived(processed, time).expect("a transaction");
    assert!(table::size(&archived).expect("a size") <= bytes, "{archived:?}");
}

/// A payment that the dispatch has handed over, `second` seconds after the others.
fn due(account: &str, second: usize, data: &str) -> Payment {
    let time = NOW.replace(":00Z", &format!(":{second:02}Z"));
    let data = serde_json::from_value(data.into()).expect("JSON");
    Payment { execution: Some(Execution::Due), data, ..payment(account, &time, Status::Pending, 0) }
}

/// Executes the payments in one batch.
async fn execute(client: &Client, payments: &[Payment]) {
    let record = |(number, payment): (usize, &Payment)| {
        let mut record = inserted(payment.key().partition(), payment.key().sort())["Records"][0].take();
        record["dynamodb"]["SequenceNumber"] = number.to_string().into();
        record
    };
    let records: Vec<Value> = payments.iter().enumerate().map(record).collect();
    let answer = client.invoke(EXECUTE, &json!({"Records": records})).await;
    assert_eq!((answer.status, &answer.body["batchItemFailures"]), (200, &json!([])), "{}", answer.body);
}

#[tokio::test]
async fn pauses_between_attempts_double_up_to_an_hour() {
    let server = Server::start(|_, _| Reply::Bytes(answer(503, ""))).await;
    let stack = handed_over(&server.url).parameter("MaxAttempts", "99").start().await.expect("a stack");
    let client = Client::operator(&stack);
    for (attempts, minutes) in [(0, 2), (1, 4), (2, 8), (3, 16), (4, 32), (5, 60), (6, 60), (97, 60)] {
        let payment = Payment { attempts, ..due(&format!("A-{attempts}"), 0, "1") };
        put(&stack, std::slice::from_ref(&payment)).await;
        // A stored time has whole seconds.
        let before = Timestamp::now() - SignedDuration::from_secs(1);
        execute(&client, std::slice::from_ref(&payment)).await;
        let rows = payments(&stack).await;
        let row = rows.iter().find(|row| row["PK"] == payment.account.as_str()).expect("the payment");
        let next: Timestamp = parsed(&row["NextAttemptAt"]);
        assert_eq!(next.duration_since(before).as_mins(), minutes, "{row:?}");
    }
    stack.stop().await;
}

#[tokio::test]
async fn payments_of_different_accounts_are_executed_side_by_side() {
    let server = Server::start(|number, _| Reply::Together(paid(number))).await;
    let stack = handed_over(&server.url).parameter("ExecutionConcurrency", "10").start().await.expect("a stack");
    let all: Vec<Payment> =
        (0..).zip(["A-1", "A-1", "A-1", "A-2"]).map(|(second, account)| due(account, second, "1")).collect();
    put(&stack, &all).await;
    execute(&Client::operator(&stack), &all).await;
    let calls = server.calls();
    let called: Vec<&str> = calls.iter().map(|call| text(&call.body, "accountId")).collect();
    assert_eq!(called[..2].iter().collect::<BTreeSet<_>>().len(), 2, "{called:?}");
    let of_one = calls.iter().filter(|call| call.body["accountId"] == "A-1");
    assert!(of_one.map(|call| text(&call.body, "scheduledTime")).is_sorted(), "{calls:?}");
    stack.stop().await;
}

/// Each payment needs the money of the one before it. The third shares no account with the first,
/// but waits for the second, which waits for the first.
#[tokio::test]
async fn a_payment_waits_for_earlier_payments_of_its_accounts() {
    let books = Books::of(stack().stacks(["bank", "ledger"]).start().await.expect("a stack")).await;
    let mut accounts = vec![books.funded("ann", "5.00").await];
    for user in ["bob", "carl", "dora"] {
        accounts.push(books.account(user).await);
    }
    let transfer = |to: &str| json!({"creditAccountId": to, "amount": "5.00", "currency": "USD"}).to_string();
    let chain: Vec<Payment> =
        (0..).zip(accounts.windows(2)).map(|(second, pair)| due(&pair[0], second, &transfer(&pair[1]))).collect();
    // The event source mapping passes over the payments while dispatching is disabled.
    for is_enabled in [false, true] {
        let switched = books.operator.put("/bank/dispatching", &json!({"enabled": is_enabled})).await;
        assert_eq!(switched.status, 200, "{}", switched.body);
        if !is_enabled {
            put(&books.stack, &chain).await;
            drained(&books.operator, EXECUTE).await;
        }
    }
    execute(&books.operator, &chain).await;
    let mut balances = Vec::new();
    for account in &accounts {
        balances.push(books.balance(account).await);
    }
    assert_eq!(balances, ["0.00", "0.00", "0.00", "5.00"]);
    books.stack.stop().await;
}

/// Customers choose the amounts of payments that they cancel.
#[tokio::test]
async fn no_amount_hides_other_payments_from_the_totals_of_a_day() {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let huge = "9".repeat(36);
    let of = |(shard, amount): (usize, &str)| {
        let data = json!({"amount": amount, "currency": "USD"}).to_string();
        let data = serde_json::from_value(data.into()).expect("JSON");
        Payment { data, ..payment("A-1", NOW, Status::Cancelled, shard % 2) }
    };
    let all: Vec<Payment> = (0..).zip([huge.as_str(), "1.50", "0.25", &huge, "2.00"]).map(of).collect();
    put(&stack, &all).await;
    let started = client.invoke("close-day", &scheduled_at("2099-12-02T00:15:00Z")).await.body;
    let job = text(&started, "jobId");
    client.invoke("continue-bank-job", &inserted(&format!("JOB#{job}"), "JOB")).await;
    let day = client.get("/bank/days/2099-12-01").await.body;
    let totals = json!([{"status": "CANCELLED", "currency": "USD", "amount": "3.75"}]);
    assert_eq!((&day["status"], &day["totals"]), (&json!("closed"), &totals), "{day}");
    assert_eq!((&day["withoutAmount"], &day["counts"]["CANCELLED"]), (&json!(2), &json!(5)), "{day}");
    stack.stop().await;
}
