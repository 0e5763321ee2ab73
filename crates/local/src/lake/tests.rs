use std::{collections::BTreeSet, fs, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::*;
use crate::{Stack, lambda::Bind};

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Resources:
  Lake:
    Type: AWS::S3::Bucket
  Changes:
    Type: AWS::KinesisFirehose::DeliveryStream
    Properties:
      ExtendedS3DestinationConfiguration:
        BucketARN: !GetAtt Lake.Arn
        Prefix: 'changes/hour=!{timestamp:yyyy-MM-dd-HH}/'
        BufferingHints: {SizeInMBs: 1}
";

async fn start() -> Stack {
    Stack::of_text(TEMPLATE).functions([]).start().await.unwrap()
}

fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn firehose(stack: &Stack, action: &str, body: &Value) -> (u16, Value) {
    let request = http().post(stack.services_url()).header("x-amz-target", format!("Firehose_20150804.{action}"));
    let response = request.body(body.to_string()).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

fn batch(records: &[Vec<u8>]) -> Value {
    let records: Vec<_> = records.iter().map(|data| json!({"Data": STANDARD.encode(data)})).collect();
    json!({"DeliveryStreamName": "local-Changes", "Records": records})
}

fn objects(stack: &Stack) -> Vec<PathBuf> {
    let folders = fs::read_dir(stack.lake().join("local-lake/changes"));
    let folders = folders.into_iter().flatten().map(|folder| folder.unwrap().path());
    let mut files: Vec<_> =
        folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|file| file.unwrap().path())).collect();
    files.sort();
    files
}

#[tokio::test]
async fn appends_records_in_order_to_one_object() {
    let stack = start().await;
    let (status, body) =
        firehose(&stack, "PutRecordBatch", &batch(&[b"{\"a\":1}\n".into(), b"{\"a\":2}\n".into()])).await;
    assert_eq!((status, &body["FailedPutCount"], &body["Encrypted"]), (200, &json!(0), &json!(false)));
    let ids: BTreeSet<_> = body["RequestResponses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["RecordId"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 2);
    let one = json!({"DeliveryStreamName": "local-Changes", "Record": {"Data": STANDARD.encode("{\"a\":3}\n")}});
    let (status, body) = firehose(&stack, "PutRecord", &one).await;
    assert_eq!((status, body["RecordId"].is_string()), (200, true));
    let text: String = objects(&stack).iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    assert_eq!(text, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
    let folder = stack.lake().to_owned();
    stack.stop().await;
    assert!(!folder.exists());
}

#[test]
fn starts_a_new_object_each_hour_and_at_the_size_limit() {
    let template = Template::read(TEMPLATE, Path::new("template.yaml"), "local", &BTreeMap::new()).unwrap();
    let lake = Lake::new(None, &template).unwrap();
    let stream = &template.delivery_streams[0];
    let data = vec![b'x'; 400 * 1024];
    for time in ["10:59:57", "10:59:58", "10:59:59", "11:00:00"] {
        lake.deliver(stream, &data, format!("2026-03-04T{time}Z").parse().unwrap()).unwrap();
    }
    let folder = lake.folder().join("local-lake/changes");
    let names = |hour: &str| {
        let files = fs::read_dir(folder.join(hour)).unwrap().map(|file| file.unwrap());
        let mut names: Vec<_> =
            files.map(|file| (file.file_name().into_string().unwrap(), file.metadata().unwrap().len())).collect();
        names.sort();
        names
    };
    let first = names("hour=2026-03-04-10");
    assert_eq!(first.iter().map(|(_, size)| *size).collect::<Vec<_>>(), [800 * 1024, 400 * 1024]);
    let start = "local-Changes-1-2026-03-04-10-59-57-";
    let (uuid, end) = first[0].0.strip_prefix(start).unwrap().split_at(36);
    assert!(Uuid::parse_str(uuid).is_ok());
    assert_eq!(end, ".json");
    assert!(names("hour=2026-03-04-11")[0].0.starts_with("local-Changes-1-2026-03-04-11-00-00-"));
}

#[tokio::test]
async fn enforces_the_limits_of_firehose() {
    let stack = start().await;
    let record = |size: usize| vec![b'x'; size];
    for (records, status) in [
        (vec![record(1); 500], 200),
        (vec![record(1); 501], 400),
        (vec![], 400),
        (vec![record(1000 * 1024)], 200),
        (vec![record(1000 * 1024 + 1)], 400),
        (vec![record(1000 * 1024); 4], 200),
        ([vec![record(1000 * 1024); 4], vec![record(96 * 1024 + 1)]].concat(), 400),
        ([vec![record(1000 * 1024); 4], vec![record(96 * 1024)]].concat(), 200),
    ] {
        let (answered, body) = firehose(&stack, "PutRecordBatch", &batch(&records)).await;
        assert_eq!(answered, status, "{} records", records.len());
        if status == 400 {
            assert_eq!(body["__type"], "InvalidArgumentException");
        }
    }
    let none = json!({"DeliveryStreamName": "other", "Records": [{"Data": ""}]});
    let (status, body) = firehose(&stack, "PutRecordBatch", &none).await;
    assert_eq!((status, &body["__type"]), (400, &json!("ResourceNotFoundException")));
    let (status, body) =
        firehose(&stack, "DescribeDeliveryStream", &json!({"DeliveryStreamName": "local-Changes"})).await;
    assert_eq!((status, &body["DeliveryStreamDescription"]["DeliveryStreamStatus"]), (200, &json!("ACTIVE")));
    let (status, body) = firehose(&stack, "DeleteDeliveryStream", &json!({})).await;
    assert_eq!((status, &body["__type"]), (400, &json!("UnknownOperationException")));
}

#[tokio::test]
async fn puts_and_gets_an_object() {
    let folder = env::temp_dir().join(format!("lake-{}", Uuid::new_v4()));
    let stack = Stack::of_text(TEMPLATE).functions([]).lake(&folder).start().await.unwrap();
    let url = |path: &str| format!("{}/{path}", stack.services_url());
    let put = http().put(url("local-lake/a%20b/c.json?x-id=PutObject")).body("data").send().await.unwrap();
    assert_eq!(put.status(), 200);
    assert!(put.headers().contains_key("etag"));
    assert_eq!(fs::read(folder.join("local-lake/a b/c.json")).unwrap(), b"data");
    let chunked = http().put(url("local-lake/chunked")).header("content-encoding", "aws-chunked");
    let chunked = chunked.body("4\r\ndata\r\n0\r\nx-amz-checksum-crc32:x\r\n\r\n").send().await.unwrap();
    assert_eq!(chunked.status(), 200);
    for key in ["local-lake/a%20b/c.json", "local-lake/chunked"] {
        assert_eq!(http().get(url(key)).send().await.unwrap().text().await.unwrap(), "data", "{key}");
    }
    for (key, status, code) in [
        ("local-lake/none", 404, "NoSuchKey"),
        ("other/key", 404, "NoSuchBucket"),
        ("local-lake/..%2Fkey", 400, "InvalidRequest"),
        ("local-lake", 501, "NotImplemented"),
    ] {
        let got = http().get(url(key)).send().await.unwrap();
        assert_eq!(got.status(), status, "{key}");
        assert!(got.text().await.unwrap().contains(code), "{key}");
    }
    let rebound = http().get(url("local-lake/chunked")).header("host", "example.com").send().await.unwrap();
    assert_eq!(rebound.status(), 403);
    stack.stop().await;
    assert!(folder.exists());
    fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn functions_use_the_local_or_the_configured_endpoints() {
    let template = format!(
        "{TEMPLATE}  Export:
    Type: AWS::Serverless::Function
    Properties: {{CodeUri: target/lambda/export}}
"
    );
    let seen: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let start = |builder: fn(crate::Builder) -> crate::Builder| {
        let seen = Arc::clone(&seen);
        let bind: Bind = Box::new(move |_, clients| {
            let url = |service: &str| clients.config(service).endpoint_url().map(str::to_owned);
            seen.lock().unwrap().extend([url("firehose"), url("s3")]);
            assert!(clients.config("s3").region().is_some() && clients.config("s3").credentials_provider().is_some());
            Err("enough".to_owned())
        });
        builder(Stack::of_text(template.clone()).bound(vec![("export".to_owned(), bind)])).start()
    };
    start(|builder| builder).await.unwrap_err();
    start(|builder| builder.firehose_endpoint("http://f").s3_endpoint("http://s")).await.unwrap_err();
    let seen = seen.lock().unwrap().clone();
    assert!(seen[0].as_ref().unwrap().starts_with("http://127.0.0.1:"));
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[2..], [Some("http://f".to_owned()), Some("http://s".to_owned())]);
}

/// File on a disk that is full at some length.
struct Full {
    file: File,
    most: u64,
}

impl Write for Full {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let room = usize::try_from(self.most.saturating_sub(self.length()?)).unwrap().min(data.len());
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write(&data[..room])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Target for Full {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.file.cut(length)
    }
}

#[test]
fn a_full_disk_leaves_no_torn_or_repeated_line() {
    let folder = env::temp_dir().join(format!("lake-test-{}", Uuid::new_v4()));
    fs::create_dir_all(&folder).unwrap();
    for most in 0..40 {
        let path = folder.join(most.to_string());
        let open = || OpenOptions::new().append(true).create(true).open(&path).unwrap();
        let mut delivered = String::new();
        for line in ["{\"a\":1}\n", "{\"a\":2}\n{\"a\":3}\n", "{\"a\":4}\n"] {
            // The function sends a failed batch again, here to a disk with room.
            if append(&mut Full { file: open(), most }, line.as_bytes()).is_err() {
                assert_eq!(fs::read_to_string(&path).unwrap(), delivered, "{most}");
                append(&mut open(), line.as_bytes()).unwrap();
            }
            delivered.push_str(line);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), delivered, "{most}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_failed_object_leaves_no_file() {
    let template = Template::read(TEMPLATE, Path::new("template.yaml"), "local", &BTreeMap::new()).unwrap();
    let lake = Lake::new(None, &template).unwrap();
    // An object cannot replace a folder, so the rename fails.
    fs::create_dir_all(lake.folder().join("local-lake/key/inner")).unwrap();
    assert!(lake.put("local-lake", "key", b"data").is_err());
    assert!(lake.put("local-lake", "other", b"data").unwrap());
    let names: Vec<_> = fs::read_dir(lake.folder()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, ["local-lake"]);
}
