//! Cart requests while DynamoDB throttles or cancels calls, loses them, or does not respond. The
//! response must either be correct or ask for a retry. After the retry, no change may be lost or
//! applied twice.

use cart::OrderStatus;
use futures::future::join_all;
use keys::{AccountId, TimestampMillis, cart::Status};
use serde_json::{Value, json};
use system_tests::{
    Client,
    cart::{
        model::{Asked, Operation, Shopper},
        twins,
    },
    faults::{Call, Fault, MOMENTS, Moment, Twins},
    stack, stride,
};
use tokio::net::TcpListener;

fn now() -> TimestampMillis {
    "2099-12-01T12:00:00.123Z".parse().expect("a time")
}

/// Scenario: preparing requests, and then the request during which the fault occurs.
#[derive(Debug, Clone, Copy)]
enum What {
    Add,
    AddOnce,
    More,
    MoreOnce,
    Count,
    Save,
    Activate,
    Join,
    Remove,
    CheckOut,
    CheckOutOnce,
    Ship,
    Deliver,
    Cancel,
    Look,
}

const ALL: [What; 15] = [
    What::Add,
    What::AddOnce,
    What::More,
    What::MoreOnce,
    What::Count,
    What::Save,
    What::Activate,
    What::Join,
    What::Remove,
    What::CheckOut,
    What::CheckOutOnce,
    What::Ship,
    What::Deliver,
    What::Cancel,
    What::Look,
];

impl What {
    /// Sends the preparing requests and returns the request under test.
    async fn prepare(self, shopper: &mut Shopper<'_>) -> Operation {
        shopper.run((0..3).map(|sku| Operation::add(sku, 2)).collect()).await;
        let item = shopper.items()[1];
        if matches!(self, Self::Activate | Self::Join) {
            shopper.run(vec![Operation::bring(item, Status::Saved)]).await;
        }
        if matches!(self, Self::Join) {
            shopper.run(vec![Operation::add(1, 5)]).await;
        }
        if matches!(self, Self::Ship | Self::Deliver | Self::Cancel) {
            shopper.run(vec![Operation::check_out()]).await;
        }
        if matches!(self, Self::Deliver) {
            shopper.run(vec![shopper.bring_order(OrderStatus::Shipped)]).await;
        }
        match self {
            Self::Add => Operation::add(9, 4),
            Self::AddOnce => Operation::add(9, 4).under("K"),
            Self::More => Operation::add(1, 4),
            Self::MoreOnce => Operation::add(1, 4).under("K"),
            Self::Count => Operation::count(item, 7),
            Self::Save => Operation::bring(item, Status::Saved),
            Self::Activate | Self::Join => Operation::bring(item, Status::Active),
            Self::Remove => Operation::Remove { item },
            Self::CheckOut => Operation::check_out(),
            Self::CheckOutOnce => Operation::check_out().under("K"),
            Self::Ship => shopper.bring_order(OrderStatus::Shipped),
            Self::Deliver => shopper.bring_order(OrderStatus::Delivered),
            Self::Cancel => shopper.bring_order(OrderStatus::Cancelled),
            Self::Look => Operation::Look { item },
        }
    }

    /// Returns whether a second, equal request gets the same response. An addition or a checkout
    /// without an idempotency key would be applied again.
    fn is_repeatable(self) -> bool {
        !matches!(self, Self::Add | Self::More | Self::CheckOut | Self::Remove)
    }
}

type Rule = fn(&Call) -> Fault;

/// Temporary faults of a single call. The caller must not notice them.
fn passing() -> Vec<(&'static str, Rule)> {
    vec![
        ("throttled", |_| Fault::throttled()),
        ("internal error", |_| Fault::internal()),
        ("request lost", |_| Fault::Lost(Moment::Before)),
        ("response lost", |_| Fault::Lost(Moment::After)),
        ("transaction conflict", |call| {
            if call.action == "PutItem" { Fault::conflict() } else { met(call, "TransactionConflict") }
        }),
        ("throttled transaction", |call| met(call, "ThrottlingError")),
    ]
}

/// Cancels the transaction because of its last change.
fn met(call: &Call, code: &'static str) -> Fault {
    let Some(changes) = call.body["TransactItems"].as_array() else { return Fault::None };
    let mut codes = vec!["None"; changes.len()];
    codes[changes.len() - 1] = code;
    Fault::cancelled(&codes)
}

fn shopper(twins: &Twins, what: What, number: usize) -> Shopper<'_> {
    let id: AccountId = format!("A-{what:?}-{number}").parse().expect("an account");
    Shopper::new(&twins.healthy, id, now())
}

#[tokio::test(flavor = "multi_thread")]
async fn hides_a_temporary_fault_of_any_call() {
    // A stack has one rule at a time. With several stacks, the scenarios run concurrently.
    let parts = passing().into_iter().flat_map(|fault| ALL.chunks(3).map(move |some| (fault, some)));
    join_all(parts.step_by(stride(3)).map(async |((name, rule), some)| {
        let twins = twins().await;
        for (what, number) in some.iter().flat_map(|what| (1..=8).map(|number| (*what, number))) {
            let mut shopper = shopper(&twins, what, number);
            let operation = what.prepare(&mut shopper).await;
            twins.proxy.rule(move |call| if call.number == number { rule(call) } else { Fault::None });
            let asked = operation.clone().ask(&twins.faulty, &shopper.id, now()).await;
            let when = format!("{name}, call {number} of {what:?}");
            assert!(asked.reply.is_some(), "{when}");
            shopper.learn(std::slice::from_ref(&asked)).await;
            if twins.proxy.calls().len() < number {
                assert!(number > 2, "{when}: fewer than two calls");
                break;
            }
            if what.is_repeatable() {
                let again = shopper.run(vec![operation]).await;
                assert_eq!(again[0].reply, asked.reply, "{when}");
            }
        }
    }))
    .await;
}

/// Permanent faults of every call, and the expected status. 0 stands for 429 or 503.
fn lasting() -> Vec<(&'static str, Rule, u64)> {
    vec![
        ("throttled", |_| Fault::throttled(), 429),
        ("throttling", |_| Fault::throttling(), 429),
        ("internal error", |_| Fault::internal(), 503),
        ("every request lost", |_| Fault::Lost(Moment::Before), 503),
        ("every response lost", |_| Fault::Lost(Moment::After), 503),
        ("silent", |_| Fault::Silence, 503),
        ("throttled writes", |call| write_meets(call, "ThrottlingError"), 429),
        ("conflicting writes", |call| write_meets(call, "TransactionConflict"), 503),
        (
            "alternating",
            |call| write_meets(call, if call.nth % 2 == 0 { "ThrottlingError" } else { "TransactionConflict" }),
            0,
        ),
    ]
}

/// Cancels a transaction. A put outside a transaction has no cancellation reasons, so it fails with
/// the corresponding error.
fn write_meets(call: &Call, code: &'static str) -> Fault {
    match (call.action.as_str(), code) {
        ("PutItem", "TransactionConflict") => Fault::conflict(),
        ("PutItem", _) => Fault::throttled(),
        _ => met(call, code),
    }
}

/// Status and `Retry-After` of a response.
fn retry_after(answer: &Value) -> (u64, &str) {
    (answer["statusCode"].as_u64().unwrap_or_default(), answer["headers"]["retry-after"].as_str().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn permanent_fault_returns_a_problem_and_the_retry_completes() {
    join_all(lasting().into_iter().map(async |(name, rule, status)| {
        let twins = twins().await;
        let mut shoppers: Vec<_> = ALL.map(|what| (what, shopper(&twins, what, 0))).into();
        let mut operations = Vec::new();
        for (what, shopper) in &mut shoppers {
            operations.push(what.prepare(shopper).await);
        }
        twins.proxy.rule(rule);
        let asked = shoppers.iter().zip(&operations).map(async |((what, shopper), operation)| {
            let client = Client::operator(&twins.faulty);
            let answer = client.invoke(operation.function(), &operation.event(&shopper.id, now())).await.body;
            let (told, after) = retry_after(&answer);
            // Reads succeed if only writes fail.
            let reads = matches!(what, What::Look) && told == 200;
            assert!(reads || after == "1", "{what:?}, {name}: {answer}");
            assert!(
                reads || told == status || (status == 0 && matches!(told, 429 | 503)),
                "{what:?}, {name}: {answer}"
            );
        });
        join_all(asked).await;
        let calls = twins.proxy.calls().len();
        println!("{name}: {calls} calls for {} requests", ALL.len());
        twins.proxy.heal();
        for ((what, shopper), operation) in shoppers.iter_mut().zip(operations) {
            let unknown = Asked { operation: operation.clone(), now: now(), reply: None };
            shopper.learn(&[unknown]).await;
            let again = shopper.run(vec![operation]).await;
            let done = again[0].reply.as_ref().is_some_and(|reply| reply.status < 300);
            // If a removal or a checkout took effect and its response was lost, the repeated
            // request is rejected.
            let was = matches!(what, What::Remove | What::CheckOut) && name == "every response lost";
            assert!(done || was, "{what:?}, {name}: {again:?}");
        }
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_endpoint_returns_503_before_the_deadline() {
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", gone.local_addr().expect("an address"));
    drop(gone);
    let stack = stack().dynamo_endpoint(url).start().await.expect("a stack");
    let answer = Client::operator(&stack).post("/cart/accounts/A-1/checkout", &json!({})).await;
    assert_eq!((answer.status, &answer.body["type"]), (503, &Value::from("/problems/unavailable")), "{}", answer.body);
    assert_eq!(answer.headers["retry-after"], "1");
}

/// The first transaction takes effect, but its response is lost. One of the reads also fails.
#[tokio::test(flavor = "multi_thread")]
async fn lost_response_and_failed_read_do_not_apply_a_request_twice() {
    let parts = (1..=2).flat_map(|number| MOMENTS.map(|moment| (number, moment)));
    join_all(parts.map(async |(number, moment)| {
        let twins = twins().await;
        for what in ALL {
            let mut shopper = shopper(&twins, what, number);
            let operation = what.prepare(&mut shopper).await;
            twins.proxy.rule(move |call| match call.action.as_str() {
                "TransactWriteItems" | "PutItem" if call.nth == 1 => Fault::Lost(Moment::After),
                "GetItem" | "Query" if call.nth == number => Fault::Lost(moment),
                _ => Fault::None,
            });
            let asked = operation.ask(&twins.faulty, &shopper.id, now()).await;
            assert!(asked.reply.is_some(), "{what:?}, read {number} {moment:?}");
            shopper.learn(&[asked]).await;
        }
    }))
    .await;
}

/// The first attempt takes effect, but its response is lost. The retries of the SDK fail, because
/// the first attempt is still in progress.
#[tokio::test(flavor = "multi_thread")]
async fn transaction_in_progress_is_not_applied_twice() {
    join_all(ALL.map(async |what| {
        let twins = twins().await;
        let mut shopper = shopper(&twins, what, 0);
        let operation = what.prepare(&mut shopper).await;
        twins.proxy.rule(move |call| match (call.action.as_str(), call.nth) {
            ("TransactWriteItems", 1) => Fault::Lost(Moment::After),
            ("TransactWriteItems", 2..=3) => Fault::in_progress(),
            _ => Fault::None,
        });
        let asked = operation.ask(&twins.faulty, &shopper.id, now()).await;
        shopper.learn(&[asked]).await;
    }))
    .await;
}
