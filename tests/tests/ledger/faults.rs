//! The ledger when DynamoDB throttles, cancels, loses or does not answer its calls: what was paid is paid once, and whoever
//! comes again with the same key is told so, however late.

use function::Invocation;
use futures::future::{join, join_all};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Asks,
    faults::{Call, Fault, MOMENTS, Moment, Process, Proxy},
    ledger::model::{Stored, posting},
    ledger::{Books, id, payment},
};

/// What the template gives a function.
const TIME: Duration = Duration::from_secs(10);
/// Enough for all its calls, and soon over where one is not answered.
const SHORT: Duration = Duration::from_secs(3);

fn now() -> Timestamp {
    "2099-11-30T12:00:00.123Z".parse().expect("a time")
}

/// What a function answers: the status, the problem if it is one, and the body's very text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    status: u64,
    problem: String,
    again: bool,
    body: String,
}

impl Told {
    fn of(answer: &Value) -> Self {
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

    fn heard(invocation: Option<Invocation>) -> Self {
        Self::of(&invocation.expect("it lives").answer.expect("an answer"))
    }

    fn is(&self, status: u64, problem: &str) -> bool {
        self.status == status && self.problem == problem && self.again == matches!(status, 429 | 503)
    }
}

/// Books, a proxy in front of their engine, and two accounts: the first holds 100.00, the other nothing.
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

    /// The payment under the key, by a function of its own behind the proxy.
    async fn pay(&self, key: &str, time: Duration) -> Told {
        Told::heard(self.process("process-payment").run(&posting(key, &self.body, now()), time).await)
    }

    /// The event, where nothing fails.
    async fn ask(&self, function: &str, event: &Value) -> Told {
        Told::of(&self.books.operator.invoke(function, event).await.body)
    }

    /// The payment under the key, where nothing fails.
    async fn pay_well(&self, key: &str) -> Told {
        self.ask("process-payment", &posting(key, &self.body, now())).await
    }

    async fn stored(&self) -> Stored {
        let stored = Stored::read(&self.books.stack).await;
        stored.check();
        stored
    }

    /// How many transactions there are under the key.
    async fn done(&self, key: &str) -> usize {
        self.stored().await.under(key).len()
    }

    /// The same request completes, or answers what it did; then it is there once, and answered alike ever after.
    async fn completes(&self, key: &str, when: &str) -> Told {
        self.proxy.heal();
        let told = self.pay_well(key).await;
        assert_eq!(told.status, 201, "{when}: {told:?}");
        assert_eq!(self.done(key).await, 1, "{when}");
        assert_eq!(self.pay_well(key).await, told, "{when}");
        told
    }
}

fn patched(account: &str, status: &str, now: Timestamp) -> Value {
    let (path, body) = (format!("/ledger/accounts/{account}"), json!({"status": status}));
    let (route, parameters) = ("PATCH /ledger/accounts/{accountId}", json!({"accountId": account}));
    Asks { route, path: &path, parameters, key: None, body: Some(&body) }.at(now)
}

fn reversal(transaction: &str, now: Timestamp) -> Value {
    let path = format!("/ledger/transactions/{transaction}/reversal");
    let (route, parameters) =
        ("POST /ledger/transactions/{transactionId}/reversal", json!({"transactionId": transaction}));
    Asks { route, path: &path, parameters, key: Some("R"), body: None }.at(now)
}

fn transaction_of(told: &Told) -> String {
    let body: Value = serde_json::from_str(&told.body).expect("JSON");
    body["transactionId"].as_str().expect("an id").to_owned()
}

type Rule = fn(&Call) -> Fault;

/// Reasons for which a transaction is cancelled, a code for its first change and one for its last.
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

#[tokio::test(flavor = "multi_thread")]
async fn what_one_call_meets_does_not_show() {
    let passing: Vec<(&str, Rule)> = vec![
        ("throttled", |_| Fault::throttled()),
        ("failed inside", |_| Fault::internal()),
        ("not reached", |_| Fault::Lost(Moment::Before)),
        ("not heard of again", |_| Fault::Lost(Moment::After)),
        ("met a transaction", |call| cancelled(call, "None", "TransactionConflict")),
        ("no capacity for a part", |call| cancelled(call, "None", "ThrottlingError")),
        ("both", |call| cancelled(call, "TransactionConflict", "ProvisionedThroughputExceeded")),
        ("a changed account, and met a transaction", |call| {
            cancelled(call, "TransactionConflict", "ConditionalCheckFailed")
        }),
        ("a header that is not there", |call| cancelled(call, "ConditionalCheckFailed", "None")),
        ("under way", |call| of_transactions(call, Fault::in_progress())),
    ];
    join_all(passing.into_iter().map(async |(name, rule)| {
        let scene = Scene::start().await;
        for number in 1..=8 {
            let key = format!("K-{number}");
            scene.proxy.rule(move |call| if call.number == number { rule(call) } else { Fault::None });
            let told = scene.pay(&key, TIME).await;
            let when = format!("{name}, call {number}");
            assert_eq!(told.status, 201, "{when}: {told:?}");
            let calls = scene.proxy.calls().len();
            assert_eq!(scene.completes(&key, &when).await, told, "{when}");
            if calls < number {
                assert_eq!(number, 5, "{when}: a payment to a merchant makes four calls");
                break;
            }
        }
    }))
    .await;
}

/// What every call, or every transaction, meets, and what is answered.
fn lasting() -> Vec<(&'static str, Rule, u64, &'static str)> {
    vec![
        ("throttled", |_| Fault::throttled(), 429, "throttled"),
        ("throttling", |_| Fault::throttling(), 429, "throttled"),
        ("failed inside", |_| Fault::internal(), 503, "unavailable"),
        ("not reached", |_| Fault::Lost(Moment::Before), 503, "unavailable"),
        ("never heard of again", |_| Fault::Lost(Moment::After), 503, "unavailable"),
        ("silent", |_| Fault::Silence, 503, "unavailable"),
        ("throttled writes", |call| of_transactions(call, Fault::throttled()), 429, "throttled"),
        ("writes without capacity", |call| cancelled(call, "None", "ThrottlingError"), 429, "throttled"),
        ("writes in the way", |call| cancelled(call, "None", "TransactionConflict"), 503, "unavailable"),
        ("both", |call| cancelled(call, "ProvisionedThroughputExceeded", "TransactionConflict"), 503, "unavailable"),
        (
            "accounts that change all the time",
            |call| cancelled(call, "TransactionConflict", "ConditionalCheckFailed"),
            503,
            "unavailable",
        ),
        ("writes that fail inside", |call| of_transactions(call, Fault::internal()), 503, "unavailable"),
        ("writes not reached", |call| of_transactions(call, Fault::Lost(Moment::Before)), 503, "unavailable"),
        ("silent writes", |call| of_transactions(call, Fault::Silence), 503, "unavailable"),
        ("writes under way", |call| of_transactions(call, Fault::in_progress()), 503, "unavailable"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lasts_is_told_in_time_and_the_same_request_completes_later() {
    join_all(lasting().into_iter().map(async |(name, rule, status, problem)| {
        let scene = Scene::start().await;
        let before = scene.stored().await;
        scene.proxy.rule(rule);
        let told = scene.pay("K", TIME).await;
        assert!(told.is(status, problem), "{name}: {told:?}");
        let (tries, reads) = (scene.proxy.count("TransactWriteItems"), scene.proxy.count("Query"));
        println!("{name}: {tries} transactions and {reads} queries were tried");
        assert_eq!(scene.stored().await, before, "{name}: {told:?}, and something was written");
        scene.completes("K", name).await;
    }))
    .await;
}

/// Nothing of it is contention, or not all of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_retry_mends_is_not_tried_again() {
    for (first, last) in [
        ("ValidationError", "None"),
        ("TransactionConflict", "ValidationError"),
        ("ItemCollectionSizeLimitExceeded", "ThrottlingError"),
        ("ConditionalCheckFailed", "ValidationError"),
    ] {
        let scene = Scene::start().await;
        scene.proxy.rule(move |call| cancelled(call, first, last));
        let told = scene.pay("K", TIME).await;
        assert!(told.is(500, "internal"), "{first} and {last}: {told:?}");
        assert_eq!(scene.proxy.count("TransactWriteItems"), 1, "{first} and {last}");
        scene.completes("K", first).await;
    }
}

/// It was done, and all that is left to say so is the table itself.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_unheard_is_found_by_reading() {
    let unheard: Vec<(&str, Rule)> = vec![
        ("no answer at all", |call| of_transactions(call, Fault::Lost(Moment::After))),
        ("one is done, the others are silent", |call| match (call.action.as_str(), call.nth) {
            ("TransactWriteItems", 1) => Fault::Lost(Moment::After),
            ("TransactWriteItems", _) => Fault::Silence,
            _ => Fault::None,
        }),
        ("one is done, and then under way for ever", |call| match (call.action.as_str(), call.nth) {
            ("TransactWriteItems", 1) => Fault::Lost(Moment::After),
            ("TransactWriteItems", _) => Fault::in_progress(),
            _ => Fault::None,
        }),
        ("one is done, and the others meet it", |call| match (call.action.as_str(), call.nth) {
            ("TransactWriteItems", 1) => Fault::Lost(Moment::After),
            ("TransactWriteItems", 2..=4) => cancelled(call, "None", "TransactionConflict"),
            _ => Fault::None,
        }),
        ("and the first look fails", |call| match (call.action.as_str(), call.nth) {
            ("TransactWriteItems", _) => Fault::Lost(Moment::After),
            ("Query", 2) => Fault::Lost(Moment::Before),
            _ => Fault::None,
        }),
    ];
    join_all(unheard.into_iter().map(async |(name, rule)| {
        let scene = Scene::start().await;
        scene.proxy.rule(rule);
        let told = scene.pay("K", TIME).await;
        assert_eq!(told.status, 201, "{name}: {told:?}");
        assert_eq!(scene.completes("K", name).await, told, "{name}");
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_look_it_is_not_known_and_not_done_again() {
    let looks: Vec<(&str, Rule)> = vec![
        ("a failing look", |_| Fault::internal()),
        ("a throttled look", |_| Fault::throttled()),
        ("a silent look", |_| Fault::Silence),
    ];
    join_all(looks.into_iter().map(async |(name, look)| {
        let scene = Scene::start().await;
        scene.proxy.rule(move |call| match (call.action.as_str(), call.nth) {
            ("TransactWriteItems", _) => Fault::Lost(Moment::After),
            ("Query", 2..) => look(call),
            _ => Fault::None,
        });
        let told = scene.pay("K", TIME).await;
        assert!(matches!(told.status, 429 | 503) && told.again, "{name}: {told:?}");
        assert_eq!(scene.done("K").await, 1, "{name}");
        scene.completes("K", name).await;
    }))
    .await;
}

/// What comes between the end of a request that was not answered, and the arrival of its transaction.
#[derive(Debug, Clone, Copy)]
enum Between {
    Nothing,
    TheSame,
    AnotherBody,
    Freeze,
    Emptied,
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_late_is_done_once_or_never() {
    use Between::{AnotherBody, Emptied, Freeze, Nothing, TheSame};
    let all = [
        (Nothing, 201, ""),
        (TheSame, 201, ""),
        (AnotherBody, 422, "idempotency-key-reused"),
        (Freeze, 409, "account-frozen"),
        (Emptied, 409, "insufficient-funds"),
    ];
    join_all(all.map(async |(between, status, problem)| {
        let scene = Scene::start().await;
        scene.proxy.rule(|call| of_transactions(call, Fault::Held));
        let told = scene.pay("K", SHORT).await;
        assert!(told.is(503, "unavailable"), "{between:?}: {told:?}");
        let books = &scene.books;
        let (other, path) = (payment(&scene.from, &scene.to, "6.00"), format!("/ledger/accounts/{}", scene.from));
        let meanwhile = match between {
            Nothing => None,
            TheSame => Some(scene.pay_well("K").await.status),
            AnotherBody => Some(scene.ask("process-payment", &posting("K", &other, now())).await.status),
            Freeze => Some(books.operator.patch(&path, &json!({"status": "frozen"})).await.status.into()),
            Emptied => Some(books.pay("E", &scene.from, &books.outside, "100.00").await.status.into()),
        };
        assert!(meanwhile.is_none_or(|status| status < 300), "{between:?}: {meanwhile:?}");
        let before = scene.stored().await;
        scene.proxy.arrive().await;
        let changed = scene.stored().await != before;
        assert_eq!(changed, matches!(between, Nothing), "{between:?}: what it changed");
        let told = scene.pay_well("K").await;
        assert!(told.is(status, problem), "{between:?}: {told:?}");
        let done = usize::from(!matches!(between, Freeze | Emptied));
        assert_eq!(scene.done("K").await, done, "{between:?}");
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_between_any_two_calls_is_healed_by_a_retry() {
    let scene = Scene::start().await;
    for moment in MOMENTS {
        for call in 1..=4 {
            let key = format!("K-{call}-{moment:?}");
            scene.proxy.rule(move |it| if it.number == call { Fault::Death(moment) } else { Fault::None });
            let event = posting(&key, &scene.body, now());
            assert!(scene.process("process-payment").run(&event, TIME).await.is_none(), "{key}: it died");
            // The three reads come in any order, and the transaction last.
            let done = usize::from(call == 4 && moment == Moment::After);
            assert_eq!(scene.done(&key).await, done, "{key}");
            scene.completes(&key, &key).await;
        }
    }
    let reversed = transaction_of(&scene.pay_well("K").await);
    for (call, moment) in (1..=4).flat_map(|call| MOMENTS.map(|moment| (call, moment))) {
        scene.proxy.rule(move |it| if it.number == call { Fault::Death(moment) } else { Fault::None });
        let invocation = scene.process("reverse-transaction").run(&reversal(&reversed, now()), TIME).await;
        println!("{call}, {moment:?}: {}", if invocation.is_some() { "lived" } else { "died" });
        scene.stored().await;
    }
    let told = scene.ask("reverse-transaction", &reversal(&reversed, now())).await;
    assert_eq!(told.status, 201, "{told:?}");
    assert_eq!(scene.done("R").await, 1);
}

/// A request that looked for its record too early, and for its accounts too late: the same request did it in between.
#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_same_requests_is_not_refused_for_what_the_first_did() {
    for held in ["Query", "BatchGetItem", "TransactWriteItems"] {
        let mut scene = Scene::start().await;
        scene.body["amount"] = "100.00".into();
        scene.proxy.rule(move |call| if call.action == held && call.nth == 1 { Fault::Held } else { Fault::None });
        let first = async {
            scene.proxy.held(1).await;
            let first = scene.pay_well("K").await;
            scene.proxy.release();
            first
        };
        let (second, first) = join(scene.pay("K", TIME), first).await;
        assert_eq!((first.status, &first), (201, &second), "{held}");
        assert_eq!(scene.done("K").await, 1, "{held}");
    }
}

/// What was read has changed by the time it is to be written: it is read again, and the rules decide anew.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_was_emptied_meanwhile_is_not_overdrawn() {
    let scene = Scene::start().await;
    scene.proxy.rule(|call| match (call.action.as_str(), call.nth) {
        ("TransactWriteItems", 1) => Fault::Held,
        _ => Fault::None,
    });
    let emptied = async {
        scene.proxy.held(1).await;
        let emptied = scene.books.pay("E", &scene.from, &scene.books.outside, "95.01").await;
        scene.proxy.release();
        emptied
    };
    let (told, emptied) = join(scene.pay("K", TIME), emptied).await;
    assert_eq!(emptied.status, 201, "{}", emptied.body);
    assert!(told.is(409, "insufficient-funds"), "{told:?}");
    assert_eq!(scene.done("K").await, 0);
}

/// Ten days later it is what it was, whatever became of its accounts.
#[tokio::test(flavor = "multi_thread")]
async fn ten_days_later_a_key_gets_the_same_answer() {
    let scene = Scene::start().await;
    let paid = scene.completes("K", "today").await;
    let undone = scene.pay_well("U").await;
    let reversed = scene.ask("reverse-transaction", &reversal(&transaction_of(&undone), now())).await;
    assert_eq!(reversed.status, 201, "{reversed:?}");
    let later = now() + SignedDuration::from_hours(10 * 24);
    let same = async |when: &str| {
        for (key, told) in [("K", &paid), ("U", &undone)] {
            let again = scene.ask("process-payment", &posting(key, &scene.body, later)).await;
            assert_eq!(&again, told, "{key}, {when}");
        }
        let again = scene.ask("reverse-transaction", &reversal(&transaction_of(&undone), later)).await;
        assert_eq!(again, reversed, "{when}");
        let mut other = scene.body.clone();
        other["amount"] = "5.01".into();
        let other = scene.ask("process-payment", &posting("K", &other, later)).await;
        assert!(other.is(422, "idempotency-key-reused"), "{when}: {other:?}");
        assert_eq!(scene.done("K").await, 1, "{when}");
    };
    same("nothing happened").await;
    for account in [&scene.from, &scene.to] {
        assert_eq!(scene.ask("update-account", &patched(account, "frozen", later)).await.status, 200);
    }
    same("frozen").await;
    for (account, holds) in [(&scene.from, "95.00"), (&scene.to, "5.00")] {
        assert_eq!(scene.ask("update-account", &patched(account, "active", later)).await.status, 200);
        let key = format!("E-{account}");
        assert_eq!(scene.books.pay(&key, account, &scene.books.outside, holds).await.status, 201);
    }
    same("emptied").await;
    for account in [&scene.from, &scene.to] {
        assert_eq!(scene.ask("update-account", &patched(account, "closed", later)).await.status, 200);
    }
    same("closed").await;
}

/// A query may show a part of a transaction that is being written.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_transaction_is_no_answer() {
    let scene = Scene::start().await;
    let told = scene.completes("K", "first").await;
    for missing in 1..=3 {
        scene.proxy.rule(move |call| match (call.action.as_str(), call.nth) {
            ("Query", 1) => Fault::Torn(missing),
            _ => Fault::None,
        });
        assert_eq!(scene.pay("K", TIME).await, told, "without {missing} of its items");
    }
    scene.proxy.rule(|call| match call.action.as_str() {
        "Query" => Fault::Torn(1),
        _ => Fault::None,
    });
    let torn = scene.pay("K", SHORT).await;
    assert!(torn.is(503, "unavailable"), "{torn:?}");
    assert_eq!(scene.done("K").await, 1);
}

/// Other writes whose answer is lost.
#[tokio::test(flavor = "multi_thread")]
async fn accounts_whose_answer_was_lost_are_as_they_were_asked_to_be() {
    let scene = Scene::start().await;
    let write = |call: &Call| matches!(call.action.as_str(), "UpdateItem" | "PutItem");
    scene.proxy.rule(move |call| if write(call) && call.nth == 1 { Fault::Lost(Moment::After) } else { Fault::None });
    let frozen = scene.process("update-account").run(&patched(&scene.from, "frozen", now()), TIME).await;
    let frozen = Told::heard(frozen);
    assert!(frozen.status == 200 && frozen.body.contains("\"frozen\""), "{frozen:?}");
    let before = scene.stored().await.accounts.len();
    let terms = json!({"userId": "ann", "accountType": "checking", "currency": "USD"});
    let (route, path) = ("POST /ledger/accounts", "/ledger/accounts");
    let event = Asks { route, path, parameters: Value::Null, key: Some("A"), body: Some(&terms) }.at(now());
    let opened = Told::heard(scene.process("create-account").run(&event, TIME).await);
    assert_eq!(opened.status, 201, "{opened:?}");
    assert_eq!(scene.ask("create-account", &event).await, opened);
    assert_eq!(scene.stored().await.accounts.len(), before + 1);
}
