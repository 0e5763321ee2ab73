//! An item of each type that cannot be read, against every reader of the bank. Lists skip it, reads
//! by id fail, and everything else continues.

use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Asks, Client,
    bank::{archive, bring_to, import, schedule, scheduled_at, stack_with},
    on_both_projections,
    patterns::all,
    stride, text,
    unreadable::{self, DAMAGES, Effect, Item, ItemType, Reading, damage},
    until,
};

const DAY: &str = "2099-12-01";
const TIME: &str = "2099-12-01T09:30:00Z";

fn has(item: &Item, name: &str, value: &str) -> bool {
    unreadable::text(item, name) == value
}

type Type = ItemType<()>;

const PAYMENT: Type = Type {
    name: "Payment",
    table: "PaymentScheduler",
    attribute: "CreatedAt",
    is: |item, ()| has(item, "Type", "Payment") && has(item, "TransactionId", "T-1"),
};
const TRANSACTION: Type = Type {
    name: "Transaction",
    table: "TransactionHistory",
    attribute: "ArchivedAt",
    is: |item, ()| has(item, "Type", "Transaction") && has(item, "GSI2PK", "T-1"),
};
const IDEMPOTENCY_RECORD: Type = Type {
    name: "IdempotencyRecord",
    table: "PaymentScheduler",
    attribute: "CreatedAt",
    is: |item, ()| has(item, "SK", "IDEMPOTENCY#K-1"),
};
const TRANSACTION_GUARD: Type = Type {
    name: "TransactionGuard",
    table: "PaymentScheduler",
    attribute: "PaymentId",
    is: |item, ()| has(item, "PK", "TRANSACTION#T-1"),
};
const DISPATCH_SWITCH: Type = Type {
    name: "DispatchSwitch",
    table: "PaymentScheduler",
    attribute: "ChangedAt",
    is: |item, ()| has(item, "Type", "DispatchSwitch"),
};
const JOB: Type = Type {
    name: "Job",
    table: "BankJobs",
    attribute: "StartedAt",
    is: |item, ()| has(item, "Type", "Job") && has(item, "SK", "JOB"),
};
const IMPORT_RUN: Type = Type {
    name: "ImportRun",
    table: "BankJobs",
    attribute: "StartedAt",
    is: |item, ()| has(item, "PK", "IMPORT#file"),
};
const TYPES: [Type; 7] =
    [PAYMENT, TRANSACTION, IDEMPOTENCY_RECORD, TRANSACTION_GUARD, DISPATCH_SWITCH, JOB, IMPORT_RUN];

/// Payments of two accounts. P-1 and P-2 belong to A-1, P-3 to A-2.
struct Scene {
    stack: Stack,
    /// PROCESSED with the transaction id T-1. The only one with an idempotency key.
    first: String,
    /// PROCESSED with the transaction id T-2.
    second: String,
    /// SCHEDULED.
    scheduled: String,
    /// PENDING, twice.
    pending: [String; 2],
    /// A dispatch that is done.
    job: String,
    /// Run of an import that is done.
    run: String,
}

impl Scene {
    async fn start(projection: &str, archived: bool) -> Self {
        let (stack, operator) = stack_with(projection).await;
        let new = new_payment();
        let first = operator.post_once("/bank/accounts/A-1/payments", "K-1", &new).await.body;
        let (second, third) = (schedule(&operator, "A-1", TIME).await, schedule(&operator, "A-2", TIME).await);
        for (payment, transaction) in [(&first, "T-1"), (&second, "T-2"), (&third, "T-3")] {
            bring_to(&operator, payment, "PROCESSED", transaction).await;
        }
        if archived {
            assert_eq!(archive(&operator, DAY).await, 3);
        }
        let id = |payment: &Value| text(payment, "paymentId").to_owned();
        let scheduled = id(&schedule(&operator, "A-1", TIME).await);
        let pending = [pending(&operator).await, pending(&operator).await];
        assert_eq!(operator.put("/bank/dispatching", &json!({"enabled": true})).await.status, 200);
        let job = text(&operator.post("/bank/dispatches", &json!({})).await.body, "jobId").to_owned();
        until(&operator, &format!("/bank/jobs/{job}"), |answer| answer.body["status"] == "done").await;
        let import = import(&stack, "file.jsonl", &[], "nonsense").await;
        let run = text(&import, "run").to_owned();
        Self { run, stack, first: id(&first), second: id(&second), scheduled, pending, job }
    }

    async fn read(&self, reader: Reader) -> Reading {
        let (account, days) =
            (|account| json!({"accountId": account}), "from=2099-01-01T00:00:00Z&to=2099-12-31T00:00:00Z");
        let get = |route, path: String, parameters| self.ask(route, path, parameters, None, None);
        match reader {
            Reader::Schedule => self.schedule("A-2", None).await,
            Reader::Retry => self.schedule("A-1", Some("K-1")).await,
            Reader::OtherKey => self.schedule("A-1", Some("K-2")).await,
            Reader::Payments(of) => {
                let path = format!("/bank/accounts/{of}/payments?{days}&status=PROCESSED");
                get("GET /bank/accounts/{accountId}/payments", path, account(of)).await
            }
            Reader::Due => {
                let path = format!("/bank/payments/due?date={DAY}&status=PROCESSED");
                get("GET /bank/payments/due", path, json!({})).await
            }
            Reader::Overdue => get("GET /bank/payments/overdue", "/bank/payments/overdue".to_owned(), json!({})).await,
            Reader::Day => get("GET /bank/days/{date}", format!("/bank/days/{DAY}"), json!({"date": DAY})).await,
            Reader::StartClose => {
                let (path, parameters) = ("/bank/days/2020-01-01/close".to_owned(), json!({"date": "2020-01-01"}));
                self.ask("POST /bank/days/{date}/close", path, parameters, None, None).await
            }
            Reader::RetryPayment => {
                let route = "POST /bank/accounts/{accountId}/payments/{paymentId}/retry";
                let path = format!("/bank/accounts/A-1/payments/{}/retry", self.first);
                self.ask(route, path, json!({"accountId": "A-1", "paymentId": self.first}), None, None).await
            }
            Reader::Dispatch => unreadable::invoke(&self.stack, "dispatch-due-payments", scheduled_at(TIME)).await,
            Reader::StartDispatch => {
                self.ask("POST /bank/dispatches", "/bank/dispatches".to_owned(), json!({}), None, None).await
            }
            Reader::GetSwitch => get("GET /bank/dispatching", "/bank/dispatching".to_owned(), json!({})).await,
            Reader::SetSwitch => {
                let (path, body) = ("/bank/dispatching".to_owned(), json!({"enabled": true}));
                self.ask("PUT /bank/dispatching", path, json!({}), None, Some(&body)).await
            }
            Reader::GetJob => {
                let path = format!("/bank/jobs/{}", self.job);
                get("GET /bank/jobs/{jobId}", path, json!({"jobId": self.job})).await
            }
            Reader::RetryJob => {
                let path = format!("/bank/jobs/{}/retry", self.job);
                get("POST /bank/jobs/{jobId}/retry", path, json!({"jobId": self.job})).await
            }
            Reader::Import => unreadable::invoke(&self.stack, "import-payments", import_event(&self.run)).await,
            Reader::GetImport => {
                let path = "/bank/imports/file".to_owned();
                get("GET /bank/imports/{importId}", path, json!({"importId": "file"})).await
            }
            Reader::RetryImport => {
                let path = "/bank/imports/file/retry".to_owned();
                get("POST /bank/imports/{importId}/retry", path, json!({"importId": "file"})).await
            }
            Reader::Cancel => self.change(&self.first, &json!({"status": "CANCELLED"})).await,
            Reader::CancelOther => self.change(&self.scheduled, &json!({"status": "CANCELLED"})).await,
            Reader::Process(number, transaction) => {
                let body = json!({"status": "PROCESSED", "transactionId": transaction});
                self.change(&self.pending[number], &body).await
            }
            Reader::Payment => self.payment(&self.first).await,
            Reader::OtherPayment => self.payment(&self.second).await,
            Reader::Archive => unreadable::invoke(&self.stack, "archive-settled-payments", json!({"date": DAY})).await,
            Reader::Transactions(of) => {
                let path = format!("/bank/accounts/{of}/transactions");
                get("GET /bank/accounts/{accountId}/transactions", path, account(of)).await
            }
            Reader::TransactionsOfDay => {
                get("GET /bank/transactions", format!("/bank/transactions?date={DAY}"), json!({})).await
            }
            Reader::Find(id) => {
                let path = format!("/bank/transactions/{id}");
                get("GET /bank/transactions/{transactionId}", path, json!({"transactionId": id})).await
            }
        }
    }

    async fn ask(
        &self,
        route: &str,
        path: String,
        parameters: Value,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Reading {
        unreadable::request(&self.stack, &Asks { route, path: &path, parameters, key, body }).await
    }

    async fn schedule(&self, account: &str, key: Option<&str>) -> Reading {
        let (path, parameters) = (format!("/bank/accounts/{account}/payments"), json!({"accountId": account}));
        let route = "POST /bank/accounts/{accountId}/payments";
        self.ask(route, path, parameters, key, Some(&new_payment())).await
    }

    async fn payment(&self, id: &str) -> Reading {
        let route = "GET /bank/accounts/{accountId}/payments/{paymentId}";
        let path = format!("/bank/accounts/A-1/payments/{id}");
        self.ask(route, path, json!({"accountId": "A-1", "paymentId": id}), None, None).await
    }

    async fn change(&self, id: &str, body: &Value) -> Reading {
        let route = "PATCH /bank/accounts/{accountId}/payments/{paymentId}";
        let path = format!("/bank/accounts/A-1/payments/{id}");
        self.ask(route, path, json!({"accountId": "A-1", "paymentId": id}), None, Some(body)).await
    }
}

fn new_payment() -> Value {
    json!({"scheduledTime": TIME, "data": 1})
}

/// The repeated event of an import.
fn import_event(run: &str) -> Value {
    json!({"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": {
        "bucket": {"name": "local-inbox"},
        "object": {"key": "inbox/file.jsonl", "size": 1, "eTag": "t", "sequencer": run},
    }}]})
}

async fn pending(operator: &Client) -> String {
    let payment = schedule(operator, "A-1", TIME).await;
    text(&bring_to(operator, &payment, "PENDING", "").await, "paymentId").to_owned()
}

/// A request or an invocation.
#[derive(Debug, Clone, Copy)]
enum Reader {
    Schedule,
    Retry,
    OtherKey,
    Payments(&'static str),
    Due,
    Overdue,
    Day,
    StartClose,
    RetryPayment,
    Dispatch,
    StartDispatch,
    GetSwitch,
    SetSwitch,
    GetJob,
    RetryJob,
    Import,
    GetImport,
    RetryImport,
    Cancel,
    CancelOther,
    Process(usize, &'static str),
    Payment,
    OtherPayment,
    Archive,
    Transactions(&'static str),
    TransactionsOfDay,
    Find(&'static str),
}

impl Reader {
    fn pattern(self) -> &'static str {
        match self {
            Self::Schedule | Self::Retry | Self::OtherKey => "B1",
            Self::Payments(_) => "B2",
            Self::Due => "B3",
            Self::Cancel | Self::CancelOther | Self::Process(..) => "B4",
            Self::Archive => "B5",
            Self::StartClose => "B14",
            Self::Day => "B15",
            Self::Overdue => "B16",
            Self::RetryPayment => "B17",
            Self::Transactions(_) => "B6",
            Self::TransactionsOfDay => "B7",
            Self::Find(_) => "B8",
            Self::Payment | Self::OtherPayment => "B9",
            Self::Dispatch | Self::StartDispatch => "B10",
            Self::Import => "B12",
            Self::GetImport | Self::RetryImport => "B13",
            Self::GetSwitch | Self::SetSwitch => "B18",
            Self::GetJob | Self::RetryJob => "B19",
        }
    }
}

use Effect::{Failed, None as Nothing, Passed, Skipped};

/// Each reader, and the effect of each type of item: payment, transaction, idempotency record,
/// transaction guard, dispatch switch, job and run of an import. The archive runs after all readers
/// of payments.
const MATRIX: [(Reader, [Effect; 7]); 32] = [
    (Reader::Schedule, [Nothing; 7]),
    (Reader::OtherKey, [Nothing; 7]),
    (Reader::Retry, [Failed, Failed, Failed, Nothing, Nothing, Nothing, Nothing]),
    (Reader::Payments("A-1"), [Skipped, Nothing, Nothing, Nothing, Nothing, Nothing, Nothing]),
    (Reader::Payments("A-2"), [Nothing; 7]),
    (Reader::Due, [Skipped, Nothing, Nothing, Nothing, Nothing, Nothing, Nothing]),
    (Reader::Cancel, [Failed, Nothing, Nothing, Nothing, Nothing, Nothing, Nothing]),
    (Reader::CancelOther, [Nothing; 7]),
    (Reader::Process(0, "T-1"), [Nothing, Nothing, Nothing, Failed, Nothing, Nothing, Nothing]),
    (Reader::Process(1, "T-9"), [Nothing; 7]),
    (Reader::Payment, [Failed, Failed, Nothing, Nothing, Nothing, Nothing, Nothing]),
    (Reader::OtherPayment, [Nothing; 7]),
    (Reader::GetSwitch, [Nothing, Nothing, Nothing, Nothing, Failed, Nothing, Nothing]),
    (Reader::Dispatch, [Nothing, Nothing, Nothing, Nothing, Failed, Nothing, Nothing]),
    (Reader::StartDispatch, [Nothing, Nothing, Nothing, Nothing, Failed, Nothing, Nothing]),
    (Reader::SetSwitch, [Nothing, Nothing, Nothing, Nothing, Passed, Nothing, Nothing]),
    (Reader::GetSwitch, [Nothing; 7]),
    (Reader::GetImport, [Nothing, Nothing, Nothing, Nothing, Nothing, Nothing, Failed]),
    (Reader::RetryImport, [Nothing, Nothing, Nothing, Nothing, Nothing, Nothing, Failed]),
    (Reader::Import, [Nothing, Nothing, Nothing, Nothing, Nothing, Nothing, Failed]),
    (Reader::GetJob, [Nothing, Nothing, Nothing, Nothing, Nothing, Failed, Nothing]),
    (Reader::RetryJob, [Nothing, Nothing, Nothing, Nothing, Nothing, Failed, Nothing]),
    (Reader::Overdue, [Nothing; 7]),
    (Reader::Day, [Nothing; 7]),
    (Reader::StartClose, [Nothing; 7]),
    (Reader::RetryPayment, [Failed, Failed, Nothing, Nothing, Nothing, Nothing, Nothing]),
    (Reader::Archive, [Skipped, Nothing, Nothing, Nothing, Nothing, Nothing, Nothing]),
    (Reader::Transactions("A-1"), [Nothing, Skipped, Nothing, Nothing, Nothing, Nothing, Nothing]),
    (Reader::Transactions("A-2"), [Nothing; 7]),
    (Reader::TransactionsOfDay, [Nothing, Skipped, Nothing, Nothing, Nothing, Nothing, Nothing]),
    (Reader::Find("T-1"), [Nothing, Failed, Nothing, Nothing, Nothing, Nothing, Nothing]),
    (Reader::Find("T-2"), [Nothing; 7]),
];

async fn one_unreadable_item_does_not_stop_the_others(projection: &str) {
    for (column, kind) in TYPES.into_iter().enumerate() {
        let archived = kind.name == TRANSACTION.name;
        let healthy = Scene::start(projection, archived).await;
        let mut expected = Vec::new();
        for (reader, _) in MATRIX {
            expected.push(healthy.read(reader).await);
        }
        // Another damage for each kind, or all of them.
        for how in DAMAGES.into_iter().cycle().skip(column).step_by(stride(3)).take(DAMAGES.len() / stride(3)) {
            let scene = Scene::start(projection, archived).await;
            let key = kind.damage(&scene.stack, &(), how).await;
            for ((reader, effects), healthy) in MATRIX.into_iter().zip(&expected) {
                let when = format!("{projection} {} {how:?}: {reader:?}", kind.name);
                let effect =
                    if kind.name == PAYMENT.name && is_archived_there(reader) { continue } else { effects[column] };
                effect.check(&scene.read(reader).await, healthy, &key, &when);
            }
            scene.stack.stop().await;
        }
        healthy.stack.stop().await;
    }
}

/// Whether the reader finds the first payment only if the archive could move it.
fn is_archived_there(reader: Reader) -> bool {
    matches!(reader, Reader::Transactions("A-1") | Reader::TransactionsOfDay | Reader::Find("T-1"))
}

on_both_projections! { one_unreadable_item_does_not_stop_the_others }

#[test]
fn every_pattern_of_the_bank_is_in_the_matrix() {
    let patterns = all().into_iter().map(|pattern| pattern.id).filter(|id| id.starts_with('B'));
    // The tests of the execution cover B11, which needs a transaction service.
    let patterns = patterns.filter(|id| *id != "B11");
    let read: BTreeSet<&str> = MATRIX.iter().map(|(reader, _)| reader.pattern()).collect();
    assert_eq!(read, patterns.collect());
}

#[tokio::test]
async fn archive_reports_an_unreadable_payment_and_moves_it_after_its_repair() {
    let scene = Scene::start("KEYS_ONLY", false).await;
    let client = scene.stack.client().expect("a client");
    let table = scene.stack.table("PaymentScheduler").expect("a table");
    let items = client.scan().table_name(table).send().await.expect("items").items.unwrap_or_default();
    let whole = items.into_iter().find(|item| (PAYMENT.is)(&item.clone().into_iter().collect(), &()));
    PAYMENT.damage(&scene.stack, &(), DAMAGES[0]).await;
    let run = scene.read(Reader::Archive).await;
    assert_eq!(run.body, json!({"until": DAY, "moved": 2, "left": true, "skipped": 1}));
    client.put_item().table_name(table).set_item(whole).send().await.expect("repaired");
    let run = scene.read(Reader::Archive).await;
    assert_eq!(run.body, json!({"until": DAY, "moved": 1, "left": false}));
    assert_eq!(scene.read(Reader::Find("T-1")).await.status, 200);
    scene.stack.stop().await;
}

#[tokio::test]
async fn archive_passes_over_a_payment_without_a_transaction_id() {
    let scene = Scene::start("KEYS_ONLY", false).await;
    Type { attribute: "TransactionId", ..PAYMENT }.damage(&scene.stack, &(), DAMAGES[0]).await;
    let run = scene.read(Reader::Archive).await;
    assert_eq!(run.body, json!({"until": DAY, "moved": 2, "left": true}));
    assert_eq!(scene.read(Reader::Payments("A-1")).await.count(), 1, "the payment remains");
    scene.stack.stop().await;
}

/// Each attribute of a payment is damaged in turn, in each status that can change. Every change of
/// an operator either succeeds or leaves the payment as it is.
#[tokio::test]
async fn a_change_of_an_unreadable_payment_succeeds_or_changes_nothing() {
    let scene = Scene::start("KEYS_ONLY", false).await;
    let client = scene.stack.client().expect("a client");
    let table = scene.stack.table("PaymentScheduler").expect("a table");
    let stored = async |id: &str| {
        let items = client.scan().table_name(table).consistent_read(true).send().await.expect("items").items;
        let items = items.unwrap_or_default().into_iter().map(|item| item.into_iter().collect::<Item>());
        let guards = |item: &Item| unreadable::text(item, "PK").starts_with("TRANSACTION#");
        items.filter(|item| guards(item) || unreadable::text(item, "SK").contains(id)).collect::<Vec<_>>()
    };
    let cancelled = (&scene.scheduled, json!({"status": "CANCELLED"}));
    let claimed = (&scene.scheduled, json!({"status": "PENDING"}));
    let failed = (&scene.pending[0], json!({"status": "FAILED"}));
    let processed = (&scene.pending[0], json!({"status": "PROCESSED", "transactionId": "T-77"}));
    let (mut refused, mut changed) = (0, 0);
    for (id, body) in [cancelled, claimed, failed, processed] {
        let healthy = stored(id).await;
        let is_it = |item: &Item| unreadable::text(item, "SK").contains(id.as_str());
        let payment = |items: &[Item]| items.iter().find(|item| is_it(item)).expect("a payment").clone();
        let names: Vec<String> = payment(&healthy).into_keys().filter(|name| name != "PK" && name != "SK").collect();
        for (name, how) in names.iter().flat_map(|name| DAMAGES.map(|how| (name, how))) {
            let is_index_key = name.starts_with("GSI");
            if is_index_key && matches!(how, unreadable::Damage::Type) {
                // DynamoDB rejects index keys of another type.
                continue;
            }
            damage(&scene.stack, "PaymentScheduler", is_it, name, how).await;
            let before = stored(id).await;
            let answer = scene.change(id, &body).await;
            let when = format!("{body}, {name} {how:?}: {answer:?}");
            let after = stored(id).await;
            if answer.status == 200 {
                changed += 1;
                let moved = unreadable::text(&payment(&after), "GSI1SK");
                assert!(moved.starts_with(text(&body, "status")), "{when}: {moved}");
            } else {
                refused += 1;
                assert_eq!(after, before, "{when}");
            }
            for item in &healthy {
                let put = client.put_item().table_name(table).set_item(Some(item.clone().into_iter().collect()));
                put.send().await.expect("repaired");
            }
            let guard = client.delete_item().table_name(table);
            let key = |text: &str| aws_sdk_dynamodb::types::AttributeValue::S(text.to_owned());
            let guard = guard.key("PK", key("TRANSACTION#T-77")).key("SK", key("TRANSACTION"));
            guard.send().await.expect("deleted");
        }
    }
    assert!(refused >= 40 && changed >= 4, "{refused} refused, {changed} changed");
    scene.stack.stop().await;
}
