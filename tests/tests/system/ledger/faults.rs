//! Tests of the ledger while DynamoDB throttles, cancels or loses calls, or does not respond, and
//! of requests that others overtake.

use function::Invocation;
use futures::future::join;
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
/// A timeout after which a payment stops its attempts soon.
const SHORT: Duration = Duration::from_secs(2);

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

    async fn stored(&self) -> Stored {
        let stored = Stored::read(&self.books.stack).await;
        stored.check();
        stored
    }

    /// Retries the payment without faults. The payment must succeed and be stored once, and another
    /// retry must get the same response.
    async fn completes(&self, key: &str) -> Outcome {
        self.proxy.heal();
        let event = posting(key, &self.body, now());
        let outcome = self.ask("process-payment", &event).await;
        assert_eq!(outcome.status, 201, "{outcome:?}");
        assert_eq!(self.stored().await.under(key).len(), 1);
        assert_eq!(self.ask("process-payment", &event).await, outcome);
        outcome
    }
}

type Rule = fn(&Call) -> Fault;

/// Cancels a transaction, with the given reason for its last action.
fn cancelled(call: &Call, last: &str) -> Fault {
    let Some(changes) = call.body["TransactItems"].as_array() else { return Fault::None };
    let mut codes = vec!["None"; changes.len()];
    codes[changes.len() - 1] = last;
    Fault::cancelled(&codes)
}

/// Faults of all calls or of all transactions. The contract has the faults of single calls.
const LASTING: [(Rule, u64, &str); 5] = [
    (|_| Fault::throttled(), 429, "throttled"),
    (|_| Fault::internal(), 503, "unavailable"),
    (|_| Fault::Lost(Moment::After), 503, "unavailable"),
    (|call| cancelled(call, "ThrottlingError"), 429, "throttled"),
    (|call| cancelled(call, "TransactionConflict"), 503, "unavailable"),
];

#[tokio::test(flavor = "multi_thread")]
async fn permanent_fault_is_reported_before_the_timeout_and_a_retry_succeeds() {
    let scene = Scene::start().await;
    for (number, (rule, status, problem)) in LASTING.into_iter().enumerate() {
        let key = format!("K-{number}");
        scene.proxy.rule(rule);
        let outcome = scene.pay(&key, SHORT).await;
        assert!(outcome.is(status, problem), "{number}: {outcome:?}");
        scene.completes(&key).await;
    }
}

/// While a transaction is being written, a query may return only some of its items.
#[tokio::test(flavor = "multi_thread")]
async fn partial_transaction_is_never_returned() {
    let scene = Scene::start().await;
    let outcome = scene.completes("K").await;
    for missing in 1..=3 {
        scene.proxy.rule(move |call| match (call.action.as_str(), call.nth) {
            ("Query", 1) => Fault::Torn(missing),
            _ => Fault::None,
        });
        assert_eq!(scene.pay("K", TIME).await, outcome, "without {missing} of its items");
    }
}

/// Returns the event of a request that opens a hold.
fn opening(key: &str, body: &Value) -> Value {
    let (route, path) = ("POST /ledger/holds", "/ledger/holds");
    Asks { route, path, parameters: Value::Null, key: Some(key), body: Some(body) }.at(now())
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
