//! Tests of batch calls that DynamoDB processes only partially. The remaining items are retried. If
//! all retries fail, an error is returned.

use bank::Payment;
use keys::bank::Status;
use local::Stack;
use system_tests::{
    Client,
    bank::{payment, payments, put, stack},
    faults::{Call, Fault, Moment, Proxy, Twins},
};
use table::{BatchWrite, Dynamo, Error, Leftover, Table};

const TIME: &str = "2099-12-01T09:30:00Z";

fn many(count: usize) -> Vec<Payment> {
    (0..count).map(|number| payment(&format!("A-{}", number % 7), TIME, Status::Scheduled, number % 5)).collect()
}

/// Table `PaymentScheduler`, reached through the proxy.
fn behind(proxy: &Proxy, stack: &Stack) -> (Dynamo, Table) {
    let client = stack.client().expect("a client");
    let client = client.config().to_builder().endpoint_url(proxy.url()).build();
    let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::from_conf(client), system_tests::random());
    let table = dynamo.table(stack.table("PaymentScheduler").expect("a table"));
    (dynamo, table)
}

fn batch(table: &Table, payments: &[Payment]) -> BatchWrite {
    let mut batch = BatchWrite::default();
    for payment in payments {
        batch.put(table, payment).expect("writable");
    }
    batch
}

type Rule = fn(&Call) -> Fault;

type Is = fn(&Error) -> bool;

/// Permanent faults, and the error that the batch must return.
const NEVER_ENDS: [(&str, Rule, Is); 4] = [
    ("no item is processed", |call| from_second(call, Fault::Partly(0)), |why| matches!(why, Error::Throttled)),
    ("throttled", |call| from_second(call, Fault::throttled()), |why| matches!(why, Error::Throttled)),
    ("lost", |call| from_second(call, Fault::Lost(Moment::Before)), |why| matches!(why, Error::Unavailable(_))),
    ("failing", |call| from_second(call, Fault::internal()), |why| matches!(why, Error::Unavailable(_))),
];

fn from_second(call: &Call, fault: Fault) -> Fault {
    if call.nth == 1 { Fault::None } else { fault }
}

#[tokio::test]
async fn failed_batch_write_returns_the_unwritten_items() {
    futures::future::join_all(NEVER_ENDS.map(async |(what, rule, stopped)| {
        let twins = Twins::start(stack).await;
        let (dynamo, table) = behind(&twins.proxy, &twins.healthy);
        twins.proxy.rule(rule);
        let Leftover { left, why } = dynamo.batch_write(batch(&table, &many(60))).await.expect_err(what);
        assert!(stopped(&why), "{what}: {why}");
        assert_eq!(left.len(), 35, "{what}");
        assert_eq!(payments(&twins.healthy).await.len(), 25, "{what}");
        let calls = twins.proxy.count("BatchWriteItem");
        assert!((3..=12).contains(&calls), "{what}: {calls} calls, the retries are not bounded");
        twins.proxy.heal();
        dynamo.batch_write(left).await.expect(what);
        assert_eq!(payments(&twins.healthy).await.len(), 60, "{what}");
    }))
    .await;
}

/// Returns the ids of the due payments in the order of the list.
async fn due(stack: &Stack, limit: usize) -> Vec<String> {
    let path = format!("/bank/payments/due?date=2099-12-01&limit={limit}");
    let (items, _) = Client::operator(stack).all(&path).await;
    items.iter().map(|item| item["paymentId"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn list_retries_unprocessed_keys() {
    const RULES: [(&str, Rule); 4] = [
        ("half of the keys", |call| if call.nth == 1 { Fault::Partly(35) } else { Fault::None }),
        ("no keys, twice", |call| if call.nth <= 2 { Fault::Partly(0) } else { Fault::None }),
        ("one at a time", |call| if call.nth <= 20 { Fault::Partly(1) } else { Fault::None }),
        ("all but one", |call| if call.nth == 1 { Fault::Partly(69) } else { Fault::None }),
    ];
    for (what, rule) in RULES {
        let twins = Twins::start(stack).await;
        put(&twins.healthy, &many(70)).await;
        let expected = due(&twins.healthy, 100).await;
        assert_eq!(expected.len(), 70);
        twins.proxy.rule(move |call| if call.action == "BatchGetItem" { rule(call) } else { Fault::None });
        assert_eq!(due(&twins.faulty, 100).await, expected, "{what}");
        assert!(twins.proxy.count("BatchGetItem") > 1, "{what}: the fault was not injected");
        assert_eq!(due(&twins.faulty, 9).await, expected, "{what}, in pages");
    }
}
