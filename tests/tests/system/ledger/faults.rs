//! Tests of the ledger while DynamoDB throttles, cancels or loses calls, or does not respond, and
//! of requests that others overtake.

use function::Invocation;
use futures::future::{join, join_all};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Asks,
    faults::{Call, Fault, Moment, Process, Proxy},
    ledger::model::{Stored, posting},
    ledger::{Books, hold, id, payment},
};

/// The timeout that the template sets for a function.
const TIME: Duration = Duration::from_secs(10);
/// A timeout for tests in which a call gets no response. The timeout is long enough for all other
/// calls of a payment.
const SHORT: Duration = Duration::from_secs(6);

fn now() -> Timestamp {
    "2099-11-30T12:00:00.123Z".parse().expect("a time")
}

/// The response of a function: status, problem type, body, and whether the response asks for a
/// retry.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome {
    status: u64,
    problem: String,
    again: bool,
    body: String,
}

impl Outcome {
    fn from_answer(answer: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let body = text(&answer["body"]);
        let problem = serde_json::from_str::<Value>(&body).map(|body| text(&body["type"])).unwrap_or_default();
        Self {
            status: answer["statusCode"].as_u64().expect("a status"),
            problem: problem.trim_start_matches("/problems/").to_owned(),
            again: answer["headers"]["retry-after"] == "1",
            body,
        }
    }

    fn from_invocation(invocation: Option<Invocation>) -> Self {
        Self::from_answer(&invocation.expect("no crash").answer.expect("an answer"))
    }

    fn is(&self, status: u64, problem: &str) -> bool {
        self.status == status && self.problem == problem && self.again == matches!(status, 429 | 503)
    }
}

/// A ledger with a proxy between its functions and DynamoDB. Account `from` has a balance of
/// 100.00, and account `to` has a balance of zero.
struct Scene {
    books: Books,
    proxy: Proxy,
    from: String,
    to: String,
    body: Value,
}

impl Scene {
    async fn start() -> Self {
        let books = Books::open().await;
        let proxy = Proxy::start(books.stack.dynamo_url()).await;
        let (from, to) = (books.funded("ann", "100.00").await, books.account("bob").await);
        let shop = books.operator.post("/ledger/merchants", &json!({"name": "Shop", "category": "Shop"})).await;
        let mut body = payment(&from, &to, "5.00");
        body["merchantId"] = id(&shop, "merchantId").into();
        Self { books, proxy, from, to, body }
    }

    fn process(&self, name: &str) -> Process<'_> {
        Process::start(&self.books.stack, &self.proxy, name, &system_tests::patterns::function_named(name))
    }

    /// Posts the payment through the proxy, in a new process.
    async fn pay(&self, key: &str, time: Duration) -> Outcome {
        Outcome::from_invocation(self.process("process-payment").run(&posting(key, &self.body, now()), time).await)
    }

    /// Invokes the function without the proxy.
    async fn ask(&self, function: &str, event: &Value) -> Outcome {
        Outcome::from_answer(&self.books.operator.invoke(function, event).await.body)
    }

    /// Posts the payment without the proxy.
    async fn pay_well(&self, key: &str) -> Outcome {
        self.ask("process-payment", &posting(key, &self.body, now())).await
    }

    async fn stored(&self) -> Stored {
        let stored = Stored::read(&self.books.stack).await;
        stored.check();
        stored
    }

    /// Returns the number of transactions with the idempotency key.
    async fn done(&self, key: &str) -> usize {
        self.stored().await.under(key).len()
    }

    /// Retries the payment without faults. The payment must succeed and be stored once, and another
    /// retry must get the same response.
    async fn completes(&self, key: &str, when: &str) -> Outcome {
        self.proxy.heal();
        let outcome = self.pay_well(key).await;
        assert_eq!(outcome.status, 201, "{when}: {outcome:?}");
        assert_eq!(self.done(key).await, 1, "{when}");
        assert_eq!(self.pay_well(key).await, outcome, "{when}");
        outcome
    }
}

type Rule = fn(&Call) -> Fault;

/// Cancels a transaction, with the given reasons for its first and its last action.
fn cancelled(call: &Call, first: &str, last: &str) -> Fault {
    let Some(changes) = call.body["TransactItems"].as_array() else { return Fault::None };
    let mut codes = vec!["None"; changes.len()];
    codes[0] = first;
    codes[changes.len() - 1] = last;
    Fault::cancelled(&codes)
}

fn of_transactions(call: &Call, fault: Fault) -> Fault {
    if call.action == "TransactWriteItems" { fault } else { Fault::None }
}

/// Returns permanent faults, which affect all calls or all transactions, with the expected status
/// and problem type.
fn lasting() -> Vec<(&'static str, Rule, u64, &'static str)> {
    vec![
        ("throttled", |_| Fault::throttled(), 429, "throttled"),
        ("throttling", |_| Fault::throttling(), 429, "throttled"),
        ("internal error", |_| Fault::internal(), 503, "unavailable"),
        ("lost requests", |_| Fault::Lost(Moment::Before), 503, "unavailable"),
        ("lost responses", |_| Fault::Lost(Moment::After), 503, "unavailable"),
        ("no response", |_| Fault::Silence, 503, "unavailable"),
        ("throttled writes", |call| of_transactions(call, Fault::throttled()), 429, "throttled"),
        ("writes with one action throttled", |call| cancelled(call, "None", "ThrottlingError"), 429, "throttled"),
        ("writes in conflict", |call| cancelled(call, "None", "TransactionConflict"), 503, "unavailable"),
        (
            "throttling and conflict",
            |call| cancelled(call, "ProvisionedThroughputExceeded", "TransactionConflict"),
            503,
            "unavailable",
        ),
        (
            "accounts that change constantly",
            |call| cancelled(call, "TransactionConflict", "ConditionalCheckFailed"),
            503,
            "unavailable",
        ),
        ("writes with internal errors", |call| of_transactions(call, Fault::internal()), 503, "unavailable"),
        ("lost writes", |call| of_transactions(call, Fault::Lost(Moment::Before)), 503, "unavailable"),
        ("writes without a response", |call| of_transactions(call, Fault::Silence), 503, "unavailable"),
        ("writes in progress", |call| of_transactions(call, Fault::in_progress()), 503, "unavailable"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn permanent_fault_is_reported_before_the_timeout_and_a_retry_succeeds() {
    join_all(lasting().into_iter().map(async |(name, rule, status, problem)| {
        let scene = Scene::start().await;
        let before = scene.stored().await;
        scene.proxy.rule(rule);
        let outcome = scene.pay("K", TIME).await;
        assert!(outcome.is(status, problem), "{name}: {outcome:?}");
        let (tries, reads) = (scene.proxy.count("TransactWriteItems"), scene.proxy.count("Query"));
        println!("{name}: {tries} transactions and {reads} queries were tried");
        assert_eq!(scene.stored().await, before, "{name}: {outcome:?}, but something was written");
        scene.completes("K", name).await;
    }))
    .await;
}

/// While a transaction is being written, a query may return only some of its items.
#[tokio::test(flavor = "multi_thread")]
async fn partial_transaction_is_never_returned() {
    let scene = Scene::start().await;
    let outcome = scene.completes("K", "first").await;
    for missing in 1..=3 {
        scene.proxy.rule(move |call| match (call.action.as_str(), call.nth) {
            ("Query", 1) => Fault::Torn(missing),
            _ => Fault::None,
        });
        assert_eq!(scene.pay("K", TIME).await, outcome, "without {missing} of its items");
    }
    scene.proxy.rule(|call| match call.action.as_str() {
        "Query" => Fault::Torn(1),
        _ => Fault::None,
    });
    let torn = scene.pay("K", SHORT).await;
    assert!(torn.is(503, "unavailable"), "{torn:?}");
    assert_eq!(scene.done("K").await, 1);
}

/// Returns the event of a request that opens a hold.
fn opening(key: &str, body: &Value) -> Value {
    let (route, path) = ("POST /ledger/holds", "/ledger/holds");
    Asks { route, path, parameters: Value::Null, key: Some(key), body: Some(body) }.at(now())
}

/// Returns the id of the opened hold.
fn hold_of(opened: &Outcome) -> String {
    let body: Value = serde_json::from_str(&opened.body).expect("JSON");
    body["holdId"].as_str().expect("an id").to_owned()
}

/// Returns the event of a request for a hold. `end` is empty, or the last segment of the path.
fn of_hold(id: &str, end: &str, key: &str, now: Timestamp) -> Value {
    let (path, route) = (format!("/ledger/holds/{id}/{end}"), format!("POST /ledger/holds/{{holdId}}/{end}"));
    let parameters = json!({"holdId": id});
    Asks { route: &route, path: &path, parameters, key: Some(key), body: None }.at(now)
}

/// The reservation of an existing hold is not attempted again.
#[tokio::test(flavor = "multi_thread")]
async fn retry_of_a_hold_attempts_one_transaction() {
    let scene = Scene::start().await;
    let event = opening("H", &hold(&scene.from, &scene.to, "0.05"));
    let opened = scene.ask("create-hold", &event).await;
    scene.proxy.heal();
    let retry = Outcome::from_invocation(scene.process("create-hold").run(&event, TIME).await);
    assert_eq!((retry.status, retry.body), (opened.status, opened.body));
    assert_eq!((scene.proxy.count("TransactWriteItems"), scene.proxy.calls().len()), (1, 3));
}

/// Another request closes the hold between the read of the hold and the read of the account. The
/// account then reserves less than the hold that was read.
#[tokio::test(flavor = "multi_thread")]
async fn hold_that_changes_between_two_reads_is_read_again() {
    let scene = Scene::start().await;
    let body = hold(&scene.from, &scene.to, "0.05");
    for (end, before) in [("capture", "void"), ("void", "capture")] {
        let function = &format!("{end}-hold");
        let hold = &hold_of(&scene.ask("create-hold", &opening(function, &body)).await);
        scene.proxy.rule(|call| if call.number == 2 { Fault::Held } else { Fault::None });
        let process = scene.process(function);
        let event = of_hold(hold, end, &format!("{function}-late"), now());
        let other = async {
            scene.proxy.held(1).await;
            let first = scene.ask(&format!("{before}-hold"), &of_hold(hold, before, function, now())).await;
            assert!(matches!(first.status, 200 | 201), "{first:?}");
            scene.proxy.release();
        };
        let (late, ()) = join(process.run(&event, TIME), other).await;
        let late = Outcome::from_invocation(late);
        assert!(late.is(409, "hold-closed"), "{function}: {late:?}");
        scene.stored().await;
    }
}

/// The schedule releases an expired hold after the payment has read the account, and before it
/// looks for expired holds.
#[tokio::test(flavor = "multi_thread")]
async fn payment_succeeds_if_another_request_releases_the_expired_hold() {
    let scene = Scene::start().await;
    let mut body = hold(&scene.from, &scene.to, "95.00");
    body["expiresAt"] = (now() + SignedDuration::from_hours(1)).to_string().into();
    assert_eq!(scene.ask("create-hold", &opening("H", &body)).await.status, 201);
    scene.proxy.rule(|call| if call.action == "Query" && call.nth == 1 { Fault::Held } else { Fault::None });
    let later = now() + SignedDuration::from_hours(2);
    let process = scene.process("process-payment");
    let event = posting("K", &payment(&scene.from, &scene.to, "10.00"), later);
    let release = async {
        scene.proxy.held(1).await;
        let event = json!({"detail-type": "Scheduled Event", "time": later.to_string()});
        let released = scene.books.operator.invoke("release-expired-holds", &event).await;
        assert_eq!(released.body, json!({"released": 1, "left": false}));
        scene.proxy.release();
    };
    let (paid, ()) = join(process.run(&event, TIME), release).await;
    let paid = Outcome::from_invocation(paid);
    assert_eq!(paid.status, 201, "{paid:?}");
    scene.stored().await;
}
