//! Tests of the calls on a paused clock, with the engine in the same thread.
use std::{collections::BTreeSet, future::Future, path::Path, time::Duration};

use aws_sdk_dynamodb::{
    Client,
    config::{
        BehaviorVersion, Config, Credentials, Region, StalledStreamProtectionConfig, http::HttpResponse,
        retry::RetryConfig,
    },
    error::{ProvideErrorMetadata, SdkError},
    types::{
        AttributeValue, DeleteRequest, KeysAndAttributes, Put, PutRequest, ReturnConsumedCapacity, TransactWriteItem,
        WriteRequest,
    },
};
use aws_smithy_runtime_api::client::http::http_client_fn;
use dynoxide::Database;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::{Instant, advance, sleep, timeout};

use super::*;
use engine::execute;
use template::Template;

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - {AttributeName: PK, AttributeType: S}
        - {AttributeName: SK, AttributeType: S}
        - {AttributeName: GSI1PK, AttributeType: S}
      KeySchema: [{AttributeName: PK, KeyType: HASH}, {AttributeName: SK, KeyType: RANGE}]
      GlobalSecondaryIndexes:
        - IndexName: GSI1
          KeySchema: [{AttributeName: GSI1PK, KeyType: HASH}, {AttributeName: SK, KeyType: RANGE}]
          Projection: {ProjectionType: ALL}
";
const TABLE: &str = "local-Things";

/// The service: the engine in the same thread, or a delivery stream that stores each record.
#[derive(Debug, Clone)]
struct Service {
    database: DebugDatabase,
    records: Arc<Mutex<Vec<Value>>>,
}

#[derive(Clone)]
struct DebugDatabase(Database);

impl fmt::Debug for DebugDatabase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Database")
    }
}

impl HttpConnector for Service {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let body = request.body().bytes().unwrap_or_default();
        let (status, answer) = match target.split_once('.') {
            Some(("Firehose_20150804", _)) => {
                let body: Value = serde_json::from_slice(body).unwrap();
                let records = body["Records"].as_array().unwrap().clone();
                let each: Vec<_> = records.iter().map(|_| json!({"RecordId": "1"})).collect();
                self.records.lock().unwrap().extend(records);
                (StatusCode::OK, json!({"FailedPutCount": 0, "RequestResponses": each}).to_string())
            }
            Some((_, action)) => execute(&self.database.0, action, body),
            None => (StatusCode::OK, String::new()),
        };
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status.into(), answer.into())))
    }
}

/// A table with faults, and clients with and without them.
struct Scene {
    hostile: Arc<Hostile>,
    client: Client,
    direct: Client,
    service: Service,
}

impl Scene {
    fn new(seed: u64, change: impl FnOnce(&mut Rates)) -> Self {
        let mut rates = Rates::default();
        change(&mut rates);
        let template = template();
        let store = Store::open(None, &template.tables).unwrap();
        let service = Service { database: DebugDatabase(store.database()), records: Arc::default() };
        let hostile = Hostile::new(seed, rates, &template.tables, Some(&store)).unwrap();
        let inner = service.clone();
        let http = http_client_fn(move |_, _| SharedHttpConnector::new(inner.clone()));
        let faulty = client(hostile.around(http.clone()));
        Self { hostile, client: faulty, direct: client(http), service }
    }

    async fn put(&self, key: &str, version: u32) -> Result<(), Option<String>> {
        put(&self.client, key, version).await
    }

    /// The version that a client reads.
    async fn version(&self, client: &Client, key: &str, is_consistent: bool) -> Option<u32> {
        let get = client.get_item().table_name(TABLE).set_key(Some(item(key, None))).consistent_read(is_consistent);
        get.send().await.unwrap().item.map(|item| version(&item))
    }

    async fn stored(&self, key: &str) -> Option<u32> {
        self.version(&self.direct, key, true).await
    }

    async fn query(&self, index: Option<&str>, value: &str) -> Vec<u32> {
        let name = if index.is_some() { "GSI1PK" } else { "PK" };
        let query = self.client.query().table_name(TABLE).set_index_name(index.map(str::to_owned));
        let query = query.key_condition_expression("#p = :p").expression_attribute_names("#p", name);
        let query = query.expression_attribute_values(":p", AttributeValue::S(value.to_owned()));
        let items = query.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await.unwrap();
        items.iter().map(version).collect()
    }

    fn transaction(&self, keys: &[&str]) -> impl Future<Output = Result<(), Option<String>>> + use<> {
        let put = |key: &&str| {
            let put = Put::builder().table_name(TABLE).set_item(Some(item(key, Some(1)))).build().unwrap();
            TransactWriteItem::builder().put(put).build()
        };
        let write = self.client.transact_write_items().set_transact_items(Some(keys.iter().map(put).collect()));
        async move { write.send().await.map(drop).map_err(code) }
    }

    fn count(&self, fault: &str) -> u64 {
        self.hostile.counts().get(fault).copied().unwrap_or_default()
    }
}

fn template() -> Template {
    Template::read(TEMPLATE, Path::new("template.yaml"), "local", &BTreeMap::new()).unwrap()
}

/// Runs an invocation that writes two items, until its timeout. Returns whether it is killed.
async fn run_writer(client: &Client, limit: Duration) -> bool {
    let (client, run) = (client.clone(), Run::start(limit));
    let task = tokio::spawn(Arc::clone(&run).scope(async move {
        for key in ["first", "second"] {
            put(&client, key, 1).await.unwrap();
        }
    }));
    tokio::select! {
        () = run.killed() => {
            task.abort();
            true
        }
        () = sleep(limit) => {
            assert!(run.is_frozen());
            false
        }
    }
}

type Item = std::collections::HashMap<String, AttributeValue>;

fn client(http: SharedHttpClient) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .endpoint_url("http://127.0.0.1:1")
        .retry_config(RetryConfig::disabled())
        // It measures the throughput by the system's clock, between pauses of the paused clock.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(http);
    Client::from_conf(config.build())
}

/// The item with a version. The version decides its index partition. Without a version, the key.
fn item(key: &str, version: Option<u32>) -> Item {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let mut item = Item::from([("PK".to_owned(), text("A")), ("SK".to_owned(), text(key))]);
    if let Some(version) = version {
        item.insert("Version".to_owned(), AttributeValue::N(version.to_string()));
        item.insert("GSI1PK".to_owned(), text(if version % 2 == 0 { "even" } else { "odd" }));
    }
    item
}

fn version(item: &Item) -> u32 {
    item["Version"].as_n().unwrap().parse().unwrap()
}

async fn put(client: &Client, key: &str, version: u32) -> Result<(), Option<String>> {
    let put = client.put_item().table_name(TABLE).set_item(Some(item(key, Some(version))));
    let put = put.return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    put.send().await.map(drop).map_err(code)
}

/// The error code of a response. `None` without a response.
#[expect(clippy::needless_pass_by_value, reason = "passed to map_err")]
fn code<E: ProvideErrorMetadata>(error: SdkError<E>) -> Option<String> {
    error.as_service_error().and_then(|error| error.meta().code()).map(str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn nothing_happens_at_rate_0() {
    let scene = Scene::new(1, |_| {});
    let start = Instant::now();
    for number in 0..50 {
        scene.put(&format!("{number}"), number).await.unwrap();
        assert_eq!(scene.version(&scene.client, &format!("{number}"), false).await, Some(number));
        assert_eq!(scene.query(None, "A").await.len(), number as usize + 1);
    }
    assert_eq!(scene.query(Some("GSI1"), "even").await.len(), 25);
    assert_eq!(futures::future::join(scene.transaction(&["x"]), scene.transaction(&["x"])).await, (Ok(()), Ok(())));
    assert_eq!((scene.hostile.counts().len(), Instant::now()), (0, start));
}

/// The errors of 40 puts under each fault, and whether an item is stored at once, and later.
#[tokio::test(start_paused = true)]
async fn each_fault_of_a_call_has_its_error_and_its_effect() {
    for (fault, errors, effects) in [
        ("lost-before", &[""][..], &[(false, false)][..]),
        ("lost-after", &[""], &[(true, true)]),
        ("late", &[""], &[(false, true)]),
        ("error", &["InternalServerError", "ServiceUnavailable"], &[(false, false), (true, true)]),
        ("throttle", &["ProvisionedThroughputExceededException", "ThrottlingException"], &[(false, false)]),
        ("conflict", &["TransactionConflictException"], &[(false, false)]),
        ("stuck", &["stuck"], &[(false, false), (true, true)]),
        ("slow", &["slow"], &[(true, true)]),
    ] {
        let scene = Scene::new(1, |rates| *rates = Rates::default().with(&format!("{fault}=1")).unwrap());
        let (mut told, mut stored) = (BTreeSet::new(), BTreeSet::new());
        for number in 0..40 {
            let (key, start) = (number.to_string(), Instant::now());
            let error = match timeout(Duration::from_mins(1), scene.put(&key, 1)).await {
                Ok(Ok(())) => (if start.elapsed().is_zero() { "fast" } else { "slow" }).to_owned(),
                Ok(Err(code)) => code.unwrap_or_default(),
                Err(_) => "stuck".to_owned(),
            };
            told.insert(error);
            let at_once = scene.stored(&key).await.is_some();
            sleep(Duration::from_secs(6)).await;
            stored.insert((at_once, scene.stored(&key).await.is_some()));
        }
        assert_eq!(told.into_iter().collect::<Vec<_>>(), errors, "{fault}");
        assert_eq!(stored.into_iter().collect::<Vec<_>>(), effects, "{fault}");
        assert_eq!(scene.count(fault), 40, "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_transaction_and_one_with_a_spurious_conflict_are_cancelled() {
    for fault in ["throttle=1", "conflict=1"] {
        let scene = Scene::new(1, |rates| *rates = Rates::default().with(fault).unwrap());
        let cancelled = Some("TransactionCanceledException".to_owned());
        assert_eq!(scene.transaction(&["a", "b"]).await, Err(cancelled));
        assert_eq!((scene.stored("a").await, scene.stored("b").await), (None, None));
    }
}

#[tokio::test(start_paused = true)]
async fn overlapping_transactions_of_an_item_conflict() {
    let scene = Scene::new(1, |rates| rates.overlap = 1.0);
    let cancelled = Err(Some("TransactionCanceledException".to_owned()));
    let both = futures::future::join(scene.transaction(&["a", "b"]), scene.transaction(&["b", "c"])).await;
    assert_eq!(both, (Ok(()), cancelled.clone()));
    let write = futures::future::join(scene.transaction(&["a"]), scene.put("a", 2)).await;
    assert_eq!(write, (Ok(()), Err(Some("TransactionConflictException".to_owned()))));
    let others = futures::future::join(scene.transaction(&["a"]), scene.transaction(&["b"])).await;
    assert_eq!(others, (Ok(()), Ok(())));
    assert_eq!(scene.transaction(&["a"]).await, Ok(()), "one after the other");
    assert_eq!(scene.count("overlap"), 2);
}

/// A stale read is a state that existed, and a key never goes back while the replica answers.
#[tokio::test(start_paused = true)]
async fn stale_reads_are_older_states_in_the_order_of_each_key() {
    let (mut is_reordered, mut old) = (false, 0);
    for seed in 0..10 {
        let scene = Scene::new(seed, |rates| rates.stale = 1.0);
        let mut seen = [None::<u32>; 2];
        for number in 1..=60 {
            for key in ["a", "b"] {
                scene.put(key, number).await.unwrap();
            }
            advance(Duration::from_millis(7)).await;
            for (last, key) in seen.iter_mut().zip(["a", "b"]) {
                let read = scene.version(&scene.client, key, false).await;
                assert!(read >= *last && read <= Some(number), "{key}: {last:?} and then {read:?} of {number}");
                assert_eq!(scene.version(&scene.client, key, true).await, Some(number), "strongly consistent");
                *last = read;
            }
            is_reordered |= seen[0] < seen[1];
        }
        old += scene.count("stale");
        sleep(Duration::from_secs(6)).await;
        assert_eq!(scene.version(&scene.client, "a", false).await, Some(60), "the replica catches up");
        assert_eq!(scene.query(None, "A").await, [60, 60]);
    }
    assert!(is_reordered && old > 100, "the second key overtakes the first one, and {old} reads are old");
}

#[tokio::test(start_paused = true)]
async fn index_entries_appear_late_and_move_with_a_gap() {
    let scene = Scene::new(1, |rates| rates.lag = 1.0);
    let mut totals = BTreeSet::new();
    for number in 1..=200 {
        scene.put("a", number).await.unwrap();
        advance(Duration::from_millis(20)).await;
        let entries = [scene.query(Some("GSI1"), "even").await, scene.query(Some("GSI1"), "odd").await].concat();
        assert!(entries.iter().all(|version| *version <= number));
        totals.insert(entries.len());
        assert_eq!(scene.query(None, "A").await, [number], "the table has no lag");
    }
    assert_eq!(totals.into_iter().collect::<Vec<_>>(), [0, 1], "with and without an entry");
    sleep(Duration::from_secs(6)).await;
    assert_eq!(scene.query(Some("GSI1"), "even").await, [200]);
    assert!(scene.count("lag") > 10);
}

/// Deletions that do not go through the functions, such as those of TTL, reach the replicas.
#[tokio::test(start_paused = true)]
async fn replicas_receive_direct_writes_and_deletions() {
    let scene = Scene::new(1, |rates| (rates.stale, rates.lag) = (1.0, 1.0));
    let counts = async || (scene.query(None, "A").await.len(), scene.query(Some("GSI1"), "even").await.len());
    for key in ["a", "b"] {
        put(&scene.direct, key, 2).await.unwrap();
    }
    assert_eq!(counts().await, (0, 0));
    sleep(Duration::from_secs(6)).await;
    assert_eq!(counts().await, (2, 2));
    scene.direct.delete_item().table_name(TABLE).set_key(Some(item("a", None))).send().await.unwrap();
    assert_eq!(scene.query(None, "A").await.len(), 2);
    scene.hostile.catch_up();
    assert_eq!(counts().await, (1, 1), "the replicas catch up on request");
}

#[tokio::test(start_paused = true)]
async fn short_pages_have_a_cursor_and_lose_no_item() {
    let scene = Scene::new(1, |rates| rates.short_page = 1.0);
    for number in 0..40 {
        scene.put(&format!("{number:02}"), number).await.unwrap();
    }
    assert_eq!(scene.query(None, "A").await, (0..40).collect::<Vec<_>>());
    assert!(scene.count("short-page") >= 5);
    let query =
        scene.client.query().table_name(TABLE).key_condition_expression("PK = :p").filter_expression("Version = :v");
    let query = query.expression_attribute_values(":p", AttributeValue::S("A".to_owned()));
    let query = query.expression_attribute_values(":v", AttributeValue::N("39".to_owned()));
    let first = query.send().await.unwrap();
    assert!(first.items().is_empty() && first.last_evaluated_key().is_some(), "an empty page with a cursor");
}

#[tokio::test(start_paused = true)]
async fn unprocessed_parts_of_a_batch_have_no_effect() {
    let scene = Scene::new(3, |rates| rates.unprocessed = 1.0);
    let keys: Vec<String> = (0..20).map(|number| format!("{number:02}")).collect();
    let put = |key: &String| {
        let put = PutRequest::builder().set_item(Some(item(key, Some(1)))).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let batch = scene.client.batch_write_item().request_items(TABLE, keys.iter().map(put).collect());
    let left = batch.send().await.unwrap().unprocessed_items.unwrap().remove(TABLE).unwrap();
    let mut stored = 0;
    for key in &keys {
        stored += usize::from(scene.stored(key).await.is_some());
    }
    assert!(stored > 0 && !left.is_empty() && stored + left.len() == 20, "{stored}");
    let read = KeysAndAttributes::builder().set_keys(Some(keys.iter().map(|key| item(key, None)).collect()));
    let answer = scene.client.batch_get_item().request_items(TABLE, read.build().unwrap()).send().await.unwrap();
    let unread = answer.unprocessed_keys.unwrap().remove(TABLE).unwrap().keys;
    assert!(!unread.is_empty() && unread.len() < 20);
    let delete = DeleteRequest::builder().set_key(Some(item("00", None))).build().unwrap();
    let one = vec![WriteRequest::builder().delete_request(delete).build()];
    let answer = scene.client.batch_write_item().request_items(TABLE, one).send().await.unwrap();
    assert!(answer.unprocessed_items.unwrap_or_default().is_empty(), "a batch of one is processed");
}

#[tokio::test(start_paused = true)]
async fn a_partition_without_capacity_throttles_and_an_index_throttles_its_table() {
    let scene = Scene::new(1, |rates| rates.partition = 0.01);
    for number in 0..10 {
        assert_eq!(scene.put("a", 2).await, Ok(()), "{number}: a hundredth of 1,000");
    }
    assert!(scene.put("a", 2).await.is_err());
    advance(Duration::from_secs(2)).await;
    assert_eq!(scene.put("a", 2).await, Ok(()));
    let index = (TABLE.to_owned(), Some("GSI1".to_owned()));
    let even = partitions::Position::new(("even".to_owned(), "b".to_owned()));
    scene.hostile.partitions().charge(&index, even, partitions::Use::Write, 1_000.0, Instant::now());
    assert!(scene.put("b", 2).await.is_err(), "the partition of the index has no capacity");
    assert!(scene.put("b", 1).await.is_ok(), "another partition of the index");
    assert!(scene.count("partition") >= 2);
}

#[tokio::test(start_paused = true)]
async fn firehose_rejects_a_part_of_the_records() {
    let scene = Scene::new(1, |rates| rates.partial_put = 1.0);
    let records: Vec<Value> = (0..20).map(|number| json!({"Data": number.to_string()})).collect();
    let body = json!({"DeliveryStreamName": "changes", "Records": records});
    let mut request = HttpRequest::new(body.to_string().into());
    request.headers_mut().insert("x-amz-target", "Firehose_20150804.PutRecordBatch");
    let connector =
        Around { inner: SharedHttpConnector::new(scene.service.clone()), hostile: Arc::clone(&scene.hostile) };
    let response = connector.call(request).await.unwrap();
    let answer: Value = serde_json::from_slice(response.body().bytes().unwrap()).unwrap();
    let stored = scene.service.records.lock().unwrap().clone();
    let failed = usize::try_from(answer["FailedPutCount"].as_u64().unwrap()).unwrap();
    assert!(failed > 0 && !stored.is_empty() && failed + stored.len() == 20, "{answer}");
    let each = answer["RequestResponses"].as_array().unwrap();
    let accepted = records.iter().zip(each).filter(|(_, one)| one["ErrorCode"].is_null());
    assert!(accepted.map(|(record, _)| record).eq(&stored), "the responses are in the order of the records");
}

#[tokio::test(start_paused = true)]
async fn a_killed_function_ends_before_or_after_a_call() {
    let mut stored = BTreeSet::new();
    for seed in 0..20 {
        let scene = Scene::new(seed, |rates| rates.kill = 1.0);
        assert!(run_writer(&scene.client, Duration::from_secs(10)).await);
        stored.insert((scene.stored("first").await.is_some(), scene.stored("second").await.is_some()));
    }
    assert_eq!(stored.into_iter().collect::<Vec<_>>(), [(false, false), (true, false)]);
}

#[tokio::test(start_paused = true)]
async fn a_frozen_function_continues_after_its_deadline() {
    let scene = Scene::new(1, |rates| rates.freeze = 1.0);
    let start = Instant::now();
    assert!(!run_writer(&scene.client, Duration::from_secs(10)).await);
    assert_eq!((Instant::now() - start, scene.stored("second").await), (Duration::from_secs(10), None));
    sleep(Duration::from_mins(1)).await;
    assert_eq!(scene.stored("second").await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn schedules_and_objects_fire_twice_late_or_not_at_all() {
    let twice = Scene::new(1, |rates| (rates.schedule_twice, rates.object_late) = (1.0, 1.0)).hostile;
    assert_eq!(twice.schedule("f").0.len(), 2);
    let (times, injected) = twice.object("f");
    assert!(times.len() == 1 && !times[0].is_zero() && injected[0].fault == "object-late");
    assert!(Scene::new(1, |rates| rates.schedule_missed = 1.0).hostile.schedule("f").0.is_empty());
    let never = Scene::new(1, |_| {}).hostile;
    assert_eq!((never.schedule("f").0, never.object("f").0), (vec![Duration::ZERO], vec![Duration::ZERO]));
}

/// The faults of a call depend on the seed and on the earlier calls of its table only.
#[tokio::test(start_paused = true)]
async fn the_same_seed_injects_the_same_faults() {
    async fn outcomes(seed: u64) -> Vec<Result<(), Option<String>>> {
        let scene =
            Scene::new(seed, |rates| *rates = Rates { stuck: 0.0, error: 0.2, lost_after: 0.2, ..Rates::usual() });
        let mut outcomes = Vec::new();
        for number in 0..100 {
            outcomes.push(scene.put("a", number).await);
        }
        outcomes
    }
    assert_eq!(outcomes(7).await, outcomes(7).await);
    assert_ne!(outcomes(7).await, outcomes(8).await);
}

#[test]
fn rates_are_changed_by_name() {
    let rates = Rates::usual().with("stale=1,lost-after=0.25,").unwrap();
    assert_eq!(rates, Rates { stale: 1.0, lost_after: 0.25, ..Rates::usual() });
    for (changes, error) in [
        ("stale", "expected NAME=RATE, not stale"),
        ("stale=2", "the rate stale must be a number from 0 to 1"),
        ("stale=-1", "the rate stale must be a number from 0 to 1"),
        ("stale=NaN", "the rate stale must be a number from 0 to 1"),
        ("stael=1", "there is no rate stael; did you mean stale?"),
    ] {
        assert_eq!(Rates::usual().with(changes).unwrap_err(), error);
    }
    assert!(Rates::usual().named().values().all(|rate| (0.0..=1.0).contains(rate)));
}
