use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use aws_sdk_dynamodb::types::AttributeValue;
use function::{Diagnostic, Invocation};
use http::Method;
use serde_json::{Value, json};
use table::Usage;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::{
    Builder, Stack,
    lambda::{Bind, Handler},
};
use hostile::Rates;

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Timeout: 1}}
Resources:
  Cart:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}, {AttributeName: SK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}, {AttributeName: SK, KeyType: RANGE}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
      TimeToLiveSpecification: {AttributeName: ExpiresAt, Enabled: true}
  Failed:
    Type: AWS::S3::Bucket
  Export:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/export
      Events:
        Changes:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Cart.StreamArn
            StartingPosition: TRIM_HORIZON
            BatchSize: 10
";
const DESTINATION: &str = "            DestinationConfig: {OnFailure: {Type: S3, Destination: !GetAtt Failed.Arn}}\n";
const REPORTS: &str = "            FunctionResponseTypes: [ReportBatchItemFailures]\n";

/// Computes the response of the function from its event.
type Answer = Arc<dyn Fn(&Value) -> Result<Value, &'static str> + Send + Sync>;

/// Stack with one function, which records its events.
struct Scene {
    stack: Stack,
    seen: Arc<Mutex<Vec<Value>>>,
    http: reqwest::Client,
    /// Removed when the scene is dropped.
    _data: Option<Data>,
}

fn key(record: &Value) -> String {
    record["dynamodb"]["Keys"]["SK"]["S"].as_str().unwrap().to_owned()
}

fn keys(event: &Value) -> Vec<String> {
    event["Records"].as_array().unwrap().iter().map(key).collect()
}

fn number(n: usize) -> String {
    format!("{n:04}")
}

fn export(seen: &Arc<Mutex<Vec<Value>>>, answer: Answer) -> Vec<(String, Bind)> {
    let seen = Arc::clone(seen);
    let handler: Handler = Arc::new(move |event, _| {
        let answer = answer(&event);
        seen.lock().unwrap().push(event);
        let failure = |message: &str| Diagnostic { error_type: "Broken".into(), error_message: message.into() };
        Box::pin(async move {
            if answer == Err("hang") {
                std::future::pending::<()>().await;
            }
            Invocation { answer: answer.map_err(failure), usage: Usage::default() }
        })
    });
    let bind: Bind = Box::new(move |_, _| Ok(Arc::clone(&handler)));
    vec![("export".to_owned(), bind)]
}

impl Scene {
    async fn start(template: &str, answer: Answer) -> Self {
        Self::of(Stack::of_text(template), answer).await
    }

    async fn of(builder: Builder, answer: Answer) -> Self {
        let seen = Arc::default();
        let stack = builder.bound(export(&seen, answer)).start().await.unwrap();
        Self { stack, seen, http: reqwest::Client::builder().no_proxy().build().unwrap(), _data: None }
    }

    /// Writes `changes` stream records while the mapping is disabled, so that the batches are
    /// predictable.
    async fn after(changes: usize, lines: &str, answer: Answer) -> Self {
        let data = Data::new();
        let scene = Self::of(data.stack(&with("            Enabled: false\n")), fine()).await;
        scene.put_all(changes).await;
        scene.stack.stop().await;
        let scene = Self::of(data.stack(&with(lines)), answer).await;
        Self { _data: Some(data), ..scene }
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> Value {
        let request = self.http.request(method, format!("{}/_local/{path}", self.stack.url()));
        request.json(body).send().await.unwrap().json().await.unwrap()
    }

    async fn report(&self) -> Value {
        self.call(Method::GET, "streams", &Value::Null).await["mappings"][0].clone()
    }

    /// Waits until no record is pending.
    async fn drained(&self) -> Value {
        let end = Instant::now() + Duration::from_mins(1);
        while Instant::now() < end {
            let report = self.report().await;
            if report["pending"] == 0 {
                return report;
            }
            sleep(Duration::from_millis(5)).await;
        }
        panic!("still pending: {}", self.report().await);
    }

    async fn put(&self, sort: &str, expires: Option<i64>) {
        self.put_in("A", sort, expires).await;
    }

    async fn put_in(&self, partition: &str, sort: &str, expires: Option<i64>) {
        let table = self.stack.table("Cart").unwrap();
        let put = self.stack.client().unwrap().put_item().table_name(table);
        let put = put.item("PK", AttributeValue::S(partition.into())).item("SK", AttributeValue::S(sort.into()));
        let put = match expires {
            Some(expires) => put.item("ExpiresAt", AttributeValue::N(expires.to_string())),
            None => put,
        };
        put.send().await.unwrap();
    }

    async fn put_all(&self, count: usize) {
        for n in 0..count {
            self.put(&number(n), None).await;
        }
    }

    /// The sort keys of each batch.
    fn batches(&self) -> Vec<Vec<String>> {
        self.events().iter().map(keys).collect()
    }

    fn events(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }

    /// Documents in the failure destination.
    fn documents(&self) -> Vec<Value> {
        let files = files(&self.stack.lake().join("local-failed"));
        files.iter().map(|file| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()).collect()
    }
}

fn files(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            files.extend(self::files(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files.sort();
    files
}

fn fine() -> Answer {
    Arc::new(|_| Ok(json!({"batchItemFailures": []})))
}

fn with(lines: &str) -> String {
    format!("{TEMPLATE}{lines}")
}

#[tokio::test]
async fn builds_a_lambda_stream_event() {
    let scene = Scene::start(TEMPLATE, fine()).await;
    scene.put("S", None).await;
    scene.drained().await;
    let mut event = scene.events().remove(0);
    let record = &mut event["Records"][0];
    let time = record["dynamodb"]["ApproximateCreationDateTime"].take();
    assert!((jiff::Timestamp::now().as_second() - time.as_i64().unwrap()).abs() < 60);
    assert_eq!(record["eventID"].take().as_str().unwrap().len(), 32);
    assert_eq!(record["dynamodb"]["SequenceNumber"].take().as_str().unwrap().len(), 21);
    assert!(record["dynamodb"]["SizeBytes"].take().as_i64().unwrap() > 0);
    let item = json!({"PK": {"S": "A"}, "SK": {"S": "S"}});
    let expected = json!({
        "eventID": null,
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": null,
            "Keys": item,
            "NewImage": item,
            "SequenceNumber": null,
            "SizeBytes": null,
            "StreamViewType": "NEW_AND_OLD_IMAGES"
        },
        "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/local-Cart/stream/2026-01-01T00:00:00.000"
    });
    assert_eq!(event["Records"], json!([expected]));
    scene.stack.stop().await;
}

#[tokio::test]
async fn delivers_records_in_order_and_in_batches() {
    let scene = Scene::after(25, "", fine()).await;
    let report = scene.drained().await;
    assert_eq!(scene.batches().concat(), (0..25).map(number).collect::<Vec<_>>());
    assert_eq!(scene.batches().iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 5]);
    let expected = json!({
        "function": "export", "name": "Changes", "table": "local-Cart", "enabled": true, "pending": 0,
        "delivered": 25, "filtered": 0, "failedBatches": 0, "retries": 0, "givenUp": 0
    });
    assert_eq!(report, expected);
}

#[tokio::test]
async fn retries_from_the_lowest_batch_item_failure() {
    let once = Mutex::new(true);
    let answer: Answer = Arc::new(move |event| {
        let is_first = std::mem::take(&mut *once.lock().unwrap());
        let failed = if is_first { &[7, 4][..] } else { &[] };
        let id = |n: &usize| json!({"itemIdentifier": event["Records"][n]["dynamodb"]["SequenceNumber"]});
        Ok(json!({"batchItemFailures": failed.iter().map(id).collect::<Vec<_>>()}))
    });
    let scene = Scene::after(10, REPORTS, answer).await;
    let report = scene.drained().await;
    assert_eq!(scene.batches(), [(0..10).map(number).collect::<Vec<_>>(), (4..10).map(number).collect()]);
    let counts = ["delivered", "failedBatches", "retries"].map(|count| report[count].clone());
    assert_eq!(json!(counts), json!([10, 1, 1]));
}

#[tokio::test]
async fn bisects_a_failed_batch_down_to_the_poison_record() {
    let answer: Answer =
        Arc::new(|event| if keys(event).contains(&number(6)) { Err("poison") } else { Ok(Value::Null) });
    let lines = "            BisectBatchOnFunctionError: true\n            MaximumRetryAttempts: 2\n";
    let scene = Scene::after(12, &format!("{lines}{DESTINATION}"), answer).await;
    let report = scene.drained().await;
    assert_eq!((&report["delivered"], &report["givenUp"]), (&json!(11), &json!(1)));
    // A split does not count as a retry. The single record is therefore delivered three times: one
    // attempt and two retries.
    let (failed, delivered): (Vec<_>, Vec<_>) = scene.batches().into_iter().partition(|keys| keys.contains(&number(6)));
    assert_eq!(failed.iter().filter(|keys| keys.len() == 1).count(), 3);
    assert_eq!(delivered.concat(), (0..12).filter(|n| *n != 6).map(number).collect::<Vec<_>>());
    let documents = scene.documents();
    assert_eq!(documents.len(), 1);
    let payload: Value = serde_json::from_str(documents[0]["payload"].as_str().unwrap()).unwrap();
    assert_eq!(keys(&payload), [number(6)]);
}

#[tokio::test]
async fn continues_after_it_writes_a_batch_to_the_failure_destination() {
    let answer: Answer = Arc::new(|event| if keys(event).contains(&number(2)) { Err("no") } else { Ok(Value::Null) });
    let lines = format!("            MaximumRetryAttempts: 1\n{DESTINATION}");
    let scene = Scene::after(13, &lines, answer).await;
    let report = scene.drained().await;
    let counts = ["delivered", "givenUp", "failedBatches", "retries"].map(|count| report[count].clone());
    assert_eq!(json!(counts), json!([3, 10, 2, 1]));
    let event = &scene.events()[0];
    let document = &scene.documents()[0];
    let payload: Value = serde_json::from_str(document["payload"].as_str().unwrap()).unwrap();
    assert_eq!(&payload, event);
    let (request, information) = (&document["requestContext"], &document["DDBStreamBatchInfo"]);
    assert_eq!(
        (&request["condition"], &request["approximateInvokeCount"]),
        (&json!("RetryAttemptsExhausted"), &json!(2))
    );
    assert_eq!(request["functionArn"], "arn:aws:lambda:us-east-1:000000000000:function:export");
    assert_eq!(document["responseContext"]["functionError"], "Unhandled");
    let number = |index: usize| &event["Records"][index]["dynamodb"]["SequenceNumber"];
    let told = (&information["batchSize"], &information["startSequenceNumber"], &information["endSequenceNumber"]);
    assert_eq!(told, (&json!(10), number(0), number(9)));
    let folder = scene.stack.lake().join("local-failed");
    let name = files(&folder)[0].strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with("aws/lambda/") && name.contains("/shardId-00000001/"), "{name}");
}

/// Without the response type, the batch item failures of the response mean nothing.
#[tokio::test]
async fn retries_after_a_timeout() {
    let hung = Mutex::new(false);
    let answer: Answer = Arc::new(move |_| {
        let again = std::mem::replace(&mut *hung.lock().unwrap(), true);
        if again { Ok(json!({"batchItemFailures": [{"itemIdentifier": ""}]})) } else { Err("hang") }
    });
    let scene = Scene::start(TEMPLATE, answer).await;
    scene.put("S", None).await;
    let report = scene.drained().await;
    assert_eq!((&report["delivered"], &report["failedBatches"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn counts_filtered_records_but_does_not_deliver_them() {
    let filter = r#"            FilterCriteria:
              Filters:
                - Pattern: '{"dynamodb": {"Keys": {"SK": {"S": [{"prefix": "ACTIVE#"}]}}}}'
                - Pattern: '{"eventName": ["REMOVE"]}'
"#;
    let scene = Scene::start(&with(filter), fine()).await;
    for sort in ["ACTIVE#1", "SKU#1", "ACTIVE#2", "SKU#2"] {
        scene.put(sort, None).await;
    }
    let report = scene.drained().await;
    assert_eq!((&report["delivered"], &report["filtered"]), (&json!(2), &json!(2)));
    assert_eq!(scene.batches().concat(), ["ACTIVE#1", "ACTIVE#2"]);
}

#[tokio::test]
async fn adds_the_service_identity_to_ttl_deletions() {
    let scene = Scene::start(TEMPLATE, fine()).await;
    let now = jiff::Timestamp::now().as_second();
    for (key, expires) in [("past", Some(now - 10)), ("soon", Some(now + 1000)), ("never", None)] {
        scene.put(key, expires).await;
    }
    for body in [json!({}), json!({"now": now + 1001})] {
        assert_eq!(scene.call(Method::POST, "ttl", &body).await, json!({"deleted": 1}));
    }
    scene.drained().await;
    let events = scene.events();
    let records = events.iter().flat_map(|event| event["Records"].as_array().unwrap());
    let removed: Vec<_> = records.filter(|record| record["eventName"] == "REMOVE").collect();
    assert_eq!(removed.iter().map(|record| key(record)).collect::<Vec<_>>(), ["past", "soon"]);
    for record in removed {
        assert_eq!(record["userIdentity"], json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"}));
        assert!(record["dynamodb"]["OldImage"]["ExpiresAt"]["N"].is_string());
    }
    let refused = scene.call(Method::POST, "ttl", &json!({"now": "soon"})).await;
    assert_eq!(refused["detail"], "`now` must be a time in whole seconds since 1970.");
}

#[tokio::test]
async fn resumes_at_the_checkpoint_after_a_restart() {
    let data = Data::new();
    let first = Scene::of(data.stack(TEMPLATE), fine()).await;
    first.put("1", None).await;
    first.drained().await;
    first.stack.stop().await;
    // This function fails for every batch, so records are pending when the stack stops.
    let second = Scene::of(data.stack(TEMPLATE), Arc::new(|_| Err("no"))).await;
    second.put("2", None).await;
    second.put("3", None).await;
    while second.events().is_empty() {
        sleep(Duration::from_millis(5)).await;
    }
    second.stack.stop().await;
    let third = Scene::of(data.stack(TEMPLATE), fine()).await;
    third.drained().await;
    assert_eq!(third.batches().concat(), ["2", "3"]);
    third.stack.stop().await;
}

#[tokio::test]
async fn starting_position_latest_skips_existing_records() {
    let data = Data::new();
    let first = Scene::of(data.stack(&with("            Enabled: false\n")), fine()).await;
    first.put("old", None).await;
    let report = first.report().await;
    assert_eq!((&report["enabled"], &report["pending"]), (&json!(false), &json!(1)));
    first.stack.stop().await;
    let latest = TEMPLATE.replace("TRIM_HORIZON", "LATEST");
    let second = Scene::of(data.stack(&latest), fine()).await;
    second.put("new", None).await;
    second.drained().await;
    assert_eq!(second.batches().concat(), ["new"]);
    second.stack.stop().await;
}

/// Data file, which is removed at the end of the test.
struct Data(PathBuf);

impl Data {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("local-{}.db", Uuid::new_v4())))
    }

    fn stack(&self, template: &str) -> Builder {
        Stack::of_text(template).data(&self.0)
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm", ".positions.json"] {
            let _ = std::fs::remove_file(format!("{}{end}", self.0.display()));
        }
    }
}

#[tokio::test]
async fn discards_old_records_without_an_invocation() {
    let data = Data::new();
    let first = Scene::of(data.stack(&with("            Enabled: false\n")), fine()).await;
    first.put_all(3).await;
    first.stack.stop().await;
    let sql = rusqlite::Connection::open(&data.0).unwrap();
    sql.execute("UPDATE _stream_records SET created_at = created_at - 120 WHERE id <= 2", ()).unwrap();
    drop(sql);
    let lines = format!("            MaximumRecordAgeInSeconds: 60\n{DESTINATION}");
    let second = Scene::of(data.stack(&with(&lines)), fine()).await;
    let report = second.drained().await;
    assert_eq!((&report["delivered"], &report["givenUp"]), (&json!(1), &json!(2)));
    assert_eq!(second.batches(), [[number(2)]]);
    let document = &second.documents()[0];
    assert_eq!(document["requestContext"]["condition"], "RecordAgeExceeded");
    assert_eq!(document["DDBStreamBatchInfo"]["batchSize"], 2);
}

#[tokio::test]
async fn changes_stream_and_ttl_settings_of_existing_tables() {
    let data = Data::new();
    let plain = TEMPLATE
        .lines()
        .take_while(|line| !line.contains("Events:"))
        .filter(|line| !line.contains("Specification"))
        .collect::<Vec<_>>()
        .join("\n");
    let first = Scene::of(data.stack(&plain), fine()).await;
    first.put("before", Some(1)).await;
    assert_eq!(first.call(Method::POST, "ttl", &json!({})).await, json!({"deleted": 0}));
    first.stack.stop().await;
    let second = Scene::of(data.stack(TEMPLATE), fine()).await;
    assert_eq!(second.call(Method::POST, "ttl", &json!({})).await, json!({"deleted": 1}));
    second.drained().await;
    assert_eq!(second.events()[0]["Records"][0]["eventName"], "REMOVE");
    second.stack.stop().await;
    // The template now has a different stream view type and a different TTL attribute.
    let other = TEMPLATE.replace("NEW_AND_OLD_IMAGES", "KEYS_ONLY").replace("ExpiresAt", "Ends");
    let third = Scene::of(data.stack(&other), fine()).await;
    third.put("kept", Some(1)).await;
    assert_eq!(third.call(Method::POST, "ttl", &json!({})).await, json!({"deleted": 0}));
    third.drained().await;
    let record = &third.events()[0]["Records"][0];
    assert_eq!((&record["dynamodb"]["StreamViewType"], record.get("NewImage")), (&json!("KEYS_ONLY"), None));
}

/// The function fails for the records of partition key A until it has seen all other keys.
#[tokio::test]
async fn lanes_deliver_the_records_of_other_partition_keys_beside_a_flood() {
    let others = Arc::new(Mutex::new(0));
    let answer: Answer = Arc::new(move |event| {
        let (keys, mut others) = (keys(event), others.lock().unwrap());
        *others += keys.iter().filter(|key| key.starts_with("other")).count();
        if *others < 30 && keys.iter().any(|key| !key.starts_with("other")) { Err("not yet") } else { Ok(Value::Null) }
    });
    let scene = Scene::start(&with("            ParallelizationFactor: 2\n"), answer).await;
    scene.put_all(100).await;
    for n in 0..30 {
        scene.put_in(&format!("B{}", n % 20), &format!("other{n}"), None).await;
    }
    let report = scene.drained().await;
    assert_eq!(report["delivered"], 130);
    let delivered = scene.batches().concat();
    let last = |key: &str| delivered.iter().rposition(|delivered| delivered == key).unwrap();
    assert!((1..100).all(|n| last(&number(n - 1)) < last(&number(n))), "{delivered:?}");
    assert!((0..30).all(|n| last(&format!("other{n}")) < last(&number(99))), "{delivered:?}");
}

/// Batches are repeated, late, and from two pollers, but a record is never delivered for the first
/// time before an earlier record of its item.
#[tokio::test]
async fn hostile_batches_keep_the_order_of_each_item() {
    let rates = Rates { pollers: 1.0, twice: 1.0, rewind: 1.0, delay: 0.1, ..Rates::default() };
    let scene = Scene::of(Stack::of_text(TEMPLATE).hostile(1, rates), fine()).await;
    for version in 0..5 {
        for item in 0..10 {
            scene.put(&number(item), Some(i64::MAX - version)).await;
        }
    }
    let report = scene.drained().await;
    assert_eq!((&report["delivered"], &report["failedBatches"]), (&json!(50), &json!(0)));
    let position = |record: &Value| record["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned();
    let mut times = BTreeMap::<String, usize>::new();
    let (mut newest, mut is_reordered, mut last) = (BTreeMap::<String, String>::new(), false, String::new());
    for record in scene.events().iter().flat_map(|event| event["Records"].as_array().unwrap().clone()) {
        let (key, position) = (key(&record), position(&record));
        let count = times.entry(position.clone()).or_default();
        *count += 1;
        if *count == 1 {
            let earlier = newest.insert(key.clone(), position.clone());
            assert!(earlier.as_ref() < Some(&position), "{key}: {position} after {earlier:?}");
            is_reordered |= position < last;
            last = position;
        }
    }
    assert_eq!(times.len(), 50);
    assert!(times.values().all(|times| *times >= 2) && is_reordered, "{times:?}");
}
