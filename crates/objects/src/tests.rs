use std::{collections::BTreeSet, fs, sync::Arc};

use axum::body::Body;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::{Value, json};

use super::*;
use engine::server::{PATIENCE, Port, Server};

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

/// A lake with its endpoint.
struct Served {
    lake: Arc<Lake>,
    url: String,
    server: Server,
}

impl Served {
    async fn stop(self) {
        self.server.stop().await;
    }
}

async fn start() -> Served {
    serve(lake()).await
}

async fn serve(lake: Lake) -> Served {
    let (lake, port) = (Arc::new(lake), Port::bind(0).await.unwrap());
    let url = format!("http://{}", port.address);
    let server = Server::start(port, Arc::new(Services(Arc::clone(&lake))), PATIENCE);
    Served { lake, url, server }
}

fn template() -> Template {
    Template::read(TEMPLATE, Path::new("template.yaml"), "local", &BTreeMap::new()).unwrap()
}

fn lake() -> Lake {
    Lake::new(None, &template()).unwrap()
}

/// The names of the files and folders in the folder of the lake.
fn names(lake: &Lake) -> Vec<std::ffi::OsString> {
    fs::read_dir(lake.folder()).unwrap().map(|file| file.unwrap().file_name()).collect()
}

fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn firehose(stack: &Served, action: &str, body: &Value) -> (u16, Value) {
    let request = http().post(&stack.url).header("x-amz-target", format!("Firehose_20150804.{action}"));
    let response = request.body(body.to_string()).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

fn batch(records: &[Vec<u8>]) -> Value {
    let records: Vec<_> = records.iter().map(|data| json!({"Data": STANDARD.encode(data)})).collect();
    json!({"DeliveryStreamName": "local-Changes", "Records": records})
}

fn objects(stack: &Served) -> Vec<PathBuf> {
    let folders = fs::read_dir(stack.lake.folder().join("local-lake/changes"));
    let folders = folders.into_iter().flatten().map(|folder| folder.unwrap().path());
    let mut files: Vec<_> =
        folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|file| file.unwrap().path())).collect();
    files.sort();
    files
}

#[test]
fn starts_a_new_object_each_hour_and_at_the_size_limit() {
    let lake = lake();
    let data = vec![b'x'; 400 * 1024];
    for time in ["10:59:57", "10:59:58", "10:59:59", "11:00:00"] {
        let time = format!("2026-03-04T{time}Z").parse().unwrap();
        lake.deliver(&template().delivery_streams[0], &data, time).unwrap();
    }
    let folder = lake.folder().join("local-lake/changes");
    let names = |hour: &str| {
        let files = fs::read_dir(folder.join(hour)).unwrap().map(|file| file.unwrap());
        let names = files.map(|file| (file.file_name().into_string().unwrap(), file.metadata().unwrap().len()));
        names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    let first = names("hour=2026-03-04-10");
    assert_eq!(first.iter().map(|(_, size)| *size).collect::<Vec<_>>(), [800 * 1024, 400 * 1024]);
    let (uuid, end) = first[0].0.strip_prefix("local-Changes-1-2026-03-04-10-59-57-").unwrap().split_at(36);
    assert!(Uuid::parse_str(uuid).is_ok() && end == ".json", "{uuid}{end}");
    assert!(names("hour=2026-03-04-11")[0].0.starts_with("local-Changes-1-2026-03-04-11-00-00-"));
}

#[tokio::test]
async fn appends_records_in_order_within_the_limits_of_firehose() {
    let stack = start().await;
    let (_, body) = firehose(&stack, "PutRecordBatch", &batch(&[b"1\n".into(), b"2\n".into()])).await;
    let answers = body["RequestResponses"].as_array().unwrap();
    assert!(body["FailedPutCount"] == 0 && answers[0]["RecordId"] != answers[1]["RecordId"], "{body}");
    let one = json!({"DeliveryStreamName": "local-Changes", "Record": {"Data": STANDARD.encode("3\n")}});
    assert!(firehose(&stack, "PutRecord", &one).await.1["RecordId"].is_string());
    let text: String = objects(&stack).iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    assert_eq!(text, "1\n2\n3\n");
    let record = |size: usize| vec![b'x'; size];
    for (records, status) in [
        (vec![record(1); 500], 200),
        (vec![record(1); 501], 400),
        (vec![], 400),
        (vec![record(1000 * 1024)], 200),
        (vec![record(1000 * 1024 + 1)], 400),
        ([vec![record(1000 * 1024); 4], vec![record(96 * 1024 + 1)]].concat(), 400),
        ([vec![record(1000 * 1024); 4], vec![record(96 * 1024)]].concat(), 200),
    ] {
        let (answered, body) = firehose(&stack, "PutRecordBatch", &batch(&records)).await;
        assert_eq!(answered, status, "{} records", records.len());
        assert!(status == 200 || body["__type"] == "InvalidArgumentException", "{body}");
    }
    let none = json!({"DeliveryStreamName": "other", "Records": [{"Data": ""}]});
    for (action, body, refusal) in [
        ("PutRecordBatch", none, "ResourceNotFoundException"),
        ("DeleteDeliveryStream", json!({}), "UnknownOperationException"),
    ] {
        let (status, body) = firehose(&stack, action, &body).await;
        assert_eq!((status, &body["__type"]), (400, &json!(refusal)));
    }
    let folder = stack.lake.folder().to_owned();
    stack.stop().await;
    assert!(!folder.exists());
}

fn s3(stack: &Served) -> aws_sdk_s3::Client {
    let config = engine::config().unwrap();
    let config = aws_sdk_s3::config::Builder::from(&config).endpoint_url(&stack.url);
    aws_sdk_s3::Client::from_conf(config.force_path_style(true).build())
}

#[tokio::test]
async fn the_sdk_puts_and_gets_objects_with_metadata_ranges_and_conditions() {
    const KEY: &str = "inbox/a b+ä.csv";
    let stack = start().await;
    let client = s3(&stack);
    let put = || client.put_object().bucket("local-lake").key(KEY).body(b"0123456789".to_vec().into());
    let first = put().metadata("expected-count", "3").content_type("text/csv").send().await.unwrap();
    let head = client.head_object().bucket("local-lake").key(KEY).send().await.unwrap();
    assert_eq!((head.content_length(), head.content_type()), (Some(10), Some("text/csv")));
    assert_eq!((&*head.metadata().unwrap()["expected-count"], head.e_tag()), ("3", first.e_tag()));
    assert!(head.last_modified().is_some());
    let tag = first.e_tag().unwrap();
    let get = || client.get_object().bucket("local-lake").key(KEY);
    for (range, expected) in [("bytes=2-4", "234"), ("bytes=7-", "789"), ("bytes=-1", "9"), ("bytes=8-99", "89")] {
        let got = get().range(range).if_match(tag).send().await.unwrap();
        assert_eq!(got.body.collect().await.unwrap().into_bytes(), expected, "{range}");
    }
    let status = |error: &dyn std::error::Error| format!("{}", aws_sdk_s3::error::DisplayErrorContext(error));
    assert!(status(&get().range("bytes=10-").send().await.unwrap_err()).contains("InvalidRange"));
    assert!(status(&put().if_none_match("*").send().await.unwrap_err()).contains("PreconditionFailed"));
    // An object that replaces another has another tag and none of its metadata.
    put().send().await.unwrap();
    assert!(status(&get().if_match(tag).send().await.unwrap_err()).contains("PreconditionFailed"));
    assert_eq!(get().send().await.unwrap().metadata().map(std::collections::HashMap::len), Some(0));
    for _ in 0..2 {
        client.delete_object().bucket("local-lake").key(KEY).send().await.unwrap();
    }
    assert!(status(&get().send().await.unwrap_err()).contains("NoSuchKey"));
    stack.stop().await;
}

#[tokio::test]
async fn the_sdk_lists_buckets_by_pages() {
    let more = ["B", "A"].map(|name| format!("  {name}:\n    Type: AWS::S3::Bucket\n")).concat();
    let template = Template::read(&(TEMPLATE.to_owned() + &more), Path::new("t"), "local", &BTreeMap::new()).unwrap();
    let stack = serve(Lake::new(None, &template).unwrap()).await;
    let client = s3(&stack);
    let all = client.list_buckets().send().await.unwrap();
    let name = |bucket: &aws_sdk_s3::types::Bucket| bucket.name().unwrap().to_owned();
    assert_eq!(all.buckets().iter().map(name).collect::<Vec<_>>(), ["local-a", "local-b", "local-lake"]);
    assert!(all.buckets().iter().all(|bucket| bucket.creation_date().is_some_and(|date| date.secs() > 1_700_000_000)));
    for limit in 1..=3 {
        let mut pages = client.list_buckets().max_buckets(limit).into_paginator().send();
        let mut found = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.unwrap();
            assert!(page.buckets().len() <= usize::try_from(limit).unwrap());
            found.extend(page.buckets().iter().map(name));
        }
        assert_eq!(found, ["local-a", "local-b", "local-lake"], "{limit}");
    }
    let some = client.list_buckets().prefix("local-l").send().await.unwrap();
    assert_eq!(some.buckets().iter().map(name).collect::<Vec<_>>(), ["local-lake"]);
    assert!(client.list_buckets().continuation_token("*").send().await.is_err());
    stack.stop().await;
}

#[tokio::test]
async fn the_sdk_lists_objects_by_pages_and_groups() {
    let stack = start().await;
    let client = s3(&stack);
    let keys = ["a b/&<c>", "a/1", "a/2", "b", "reports/x/1.jsonl", "reports/y/1.jsonl"];
    for key in keys {
        client.put_object().bucket("local-lake").key(key).body(b"x".to_vec().into()).send().await.unwrap();
    }
    for (delimiter, found_groups, found) in
        [(None, &[][..], &keys[..]), (Some("/"), &["a b/", "a/", "reports/"], &["b"])]
    {
        for limit in 1..=7 {
            let list = client.list_objects_v2().bucket("local-lake").set_delimiter(delimiter.map(str::to_owned));
            let mut pages = list.max_keys(limit).into_paginator().send();
            let (mut groups, mut objects) = (Vec::new(), Vec::new());
            while let Some(page) = pages.next().await {
                let page = page.unwrap();
                groups.extend(page.common_prefixes().iter().filter_map(|group| group.prefix().map(str::to_owned)));
                assert!(page.contents().iter().all(|object| object.size() == Some(1) && object.e_tag().is_some()));
                objects.extend(page.contents().iter().filter_map(|object| object.key().map(str::to_owned)));
            }
            objects.sort();
            assert!(groups == found_groups && objects == found, "{delimiter:?} {limit}: {groups:?} {objects:?}");
        }
    }
    let below = client.list_objects_v2().bucket("local-lake").prefix("reports/x").send().await.unwrap();
    assert_eq!(below.key_count(), Some(1));
    stack.stop().await;
}

#[tokio::test]
async fn an_upload_in_parts_becomes_one_object() {
    use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};

    let stack = start().await;
    let client = s3(&stack);
    let (bucket, key) = ("local-lake", "large/file");
    let create = || client.create_multipart_upload().bucket(bucket).key(key).metadata("expected-sum", "1.00 USD");
    let upload = create().send().await.unwrap().upload_id.unwrap();
    let mut parts = Vec::new();
    for (number, text) in [(2, "second"), (1, "first"), (3, "unused"), (1, "First")] {
        let part = client.upload_part().bucket(bucket).key(key).upload_id(&upload).part_number(number);
        let tag = part.body(text.as_bytes().to_vec().into()).send().await.unwrap().e_tag.unwrap();
        parts.push(CompletedPart::builder().part_number(number).e_tag(tag).build());
    }
    let complete = |chosen: &[usize]| {
        let chosen = chosen.iter().map(|part| parts[*part].clone()).collect();
        let chosen = CompletedMultipartUpload::builder().set_parts(Some(chosen)).build();
        client.complete_multipart_upload().bucket(bucket).key(key).upload_id(&upload).multipart_upload(chosen).send()
    };
    // Out of order, replaced, and none.
    for wrong in [&[0, 3][..], &[1, 0], &[]] {
        assert!(complete(wrong).await.is_err(), "{wrong:?}");
    }
    complete(&[3, 0]).await.unwrap();
    assert!(complete(&[3, 0]).await.is_err());
    let got = client.get_object().bucket(bucket).key(key).send().await.unwrap();
    assert_eq!(got.metadata().unwrap()["expected-sum"], "1.00 USD");
    assert_eq!(got.body.collect().await.unwrap().into_bytes(), "Firstsecond");
    let second = create().send().await.unwrap().upload_id.unwrap();
    for (id, is_done) in [("../x", false), (&*second, true), (&*second, false)] {
        let abort = client.abort_multipart_upload().bucket(bucket).key(key).upload_id(id);
        assert_eq!(abort.send().await.is_ok(), is_done, "{id}");
    }
    assert_eq!(fs::read_dir(stack.lake.folder().join(".s3/uploads")).unwrap().count(), 0);
    stack.stop().await;
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
    let lake = lake();
    // An object cannot replace a folder, so the rename fails.
    fs::create_dir_all(lake.folder().join("local-lake/key/inner")).unwrap();
    assert!(lake.put("local-lake", "key", b"data").is_err());
    lake.put("local-lake", "other", b"data").unwrap();
    assert_eq!(names(&lake), ["local-lake"]);
}

/// Sends a request, and returns the status and the code of the error.
async fn outcome(request: reqwest::RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    (status, code.map(|(code, _)| code.to_owned()).unwrap_or_default())
}

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// Every method answers every key, and only with a reason.
#[tokio::test]
async fn keys_that_cannot_be_files_are_refused() {
    let stack = start().await;
    let url = |key: &str| format!("{}/local-lake/{key}", stack.url);
    let put = |key: &str| outcome(http().put(url(key)).header("x-amz-meta-a", "1").body("data"));
    let invalid = refused(400, "InvalidRequest");
    assert_eq!(put("d/a").await.0, 200);
    for key in ["d/a/b", "d/a/b/c", "d", "d%2f..%2fx", "d//x", "d/", ".%2fx", "d%2f..", "d/%00"] {
        assert_eq!(put(key).await, invalid, "{key}");
    }
    assert_eq!(put(&"x".repeat(255)).await.0, 200);
    assert_eq!(put(&"x".repeat(256)).await, invalid);
    let long = [255, 255, 255, 200, 55].map(|length| "y".repeat(length)).join("/");
    assert_eq!((long.len(), put(&long).await.0), (1024, 200));
    assert_eq!(put(&format!("{long}y")).await, refused(400, "KeyTooLongError"));
    assert_eq!(put("d/%ff").await, refused(400, "InvalidURI"));
    for key in ["d/a/b", "d", "d//x", "..%2fx", "%ff", &"x".repeat(256), &"x".repeat(1025)] {
        for request in [http().get(url(key)), http().head(url(key)), http().delete(url(key))] {
            let (status, code) = outcome(request).await;
            assert!([204, 400, 404].contains(&status), "{key}: {status} {code}");
        }
        let upload = outcome(http().post(format!("{}?uploads", url(key)))).await;
        assert!([200, 400].contains(&upload.0), "{key}: {upload:?}");
    }
    // S3 has no folders, so a deletion leaves none in the way, and no attributes either.
    assert_eq!(outcome(http().delete(url("d/a"))).await.0, 204);
    for key in ["d/a/b", "d/c"] {
        assert_eq!(put(key).await.0, 200, "{key}");
    }
    for key in ["d/a/b", "d/c"] {
        assert_eq!(outcome(http().delete(url(key))).await.0, 204, "{key}");
    }
    assert_eq!(put("d").await.0, 200);
    stack.stop().await;
}

#[tokio::test]
async fn a_body_must_have_the_hash_of_content_md5() {
    let stack = start().await;
    let put = |md5: &str| {
        let request = http().put(format!("{}/local-lake/key", stack.url));
        outcome(request.header("content-md5", md5).body("data"))
    };
    assert_eq!(put("jXd/OF0VFpvkiVSj9ItaQA==").await, refused(400, "BadDigest"));
    for malformed in ["", "data", "jXd/OF0VFpvkiVSj9ItaQA", "ZGF0YQ=="] {
        assert_eq!(put(malformed).await, refused(400, "InvalidDigest"), "{malformed}");
    }
    assert_eq!(put("jXd/OF09/siBXSD3SWAm3A==").await.0, 200);
    stack.stop().await;
}

/// Whoever has a presigned URL may add no header that changes the object, as in S3.
#[tokio::test]
async fn a_presigned_request_has_no_unsigned_headers_of_s3() {
    let stack = start().await;
    let all: Allows = Box::new(|_, _, _| true);
    stack.lake.set_roles(BTreeMap::from([("sign".to_owned(), all)]));
    let signer = aws_sdk_s3::config::Credentials::new("sign", presigned::SECRET_KEY, None, None, "test");
    let config = s3(&stack).config().to_builder().credentials_provider(signer);
    let client = aws_sdk_s3::Client::from_conf(config.build());
    let life = std::time::Duration::from_mins(15);
    let validity = aws_sdk_s3::presigning::PresigningConfig::expires_in(life).unwrap();
    let put = client.put_object().bucket("local-lake").key("key").metadata("a", "1").presigned(validity).await.unwrap();
    let sent = |url: &str, extra: (&'static str, &'static str)| {
        let request = put.headers().fold(http().put(url), |request, (name, value)| request.header(name, value));
        let request = if extra.0.is_empty() { request } else { request.header(extra.0, extra.1) };
        request.body("data")
    };
    for extra in [
        ("x-amz-meta-b", "2"),
        ("x-amz-acl", "public-read"),
        ("x-amz-tagging", "a=b"),
        ("x-amz-storage-class", "GLACIER"),
        ("x-amz-copy-source", "/local-lake/other"),
        ("x-amz-server-side-encryption", "AES256"),
        ("x-amz-checksum-sha256", "Om6weQ85rIfJTzhWsS1qIHgQuF4SHL3GWQUPLK+XByI="),
        ("x-amz-security-token", "token"),
        ("X-Amz-Anything", "1"),
        ("content-md5", "jXd/OF09/siBXSD3SWAm3A=="),
    ] {
        let response = sent(put.uri(), extra).send().await.unwrap();
        assert_eq!(response.status(), 403, "{extra:?}");
        let text = response.text().await.unwrap();
        let expected = format!(
            "<Code>AccessDenied</Code><Message>There were headers present in the request which were not signed\
             </Message><HeadersNotSigned>{}</HeadersNotSigned>",
            extra.0.to_ascii_lowercase()
        );
        assert!(text.contains(&expected), "{text}");
    }
    let repeated = ["host%3Bhost", "host%3Bhost%3Bx-amz-meta-a", "x-amz-meta-a%3Bhost"];
    for names in repeated {
        let forged = put.uri().replace("host%3Bx-amz-meta-a", names);
        assert_ne!(forged, put.uri());
        assert_eq!(outcome(sent(&forged, ("", ""))).await.0, 403, "{names}");
    }
    // A repeated header is one header with two values, and the hash of the body is signed.
    for extra in [("x-amz-meta-a", "2"), ("x-amz-content-sha256", "0")] {
        assert_eq!(outcome(sent(put.uri(), extra)).await, refused(403, "SignatureDoesNotMatch"), "{extra:?}");
    }
    assert_eq!(outcome(http().get(format!("{}/local-lake/key", stack.url))).await.0, 404);
    let harmless = [("", ""), ("content-type", "text/plain"), ("x-amzn-trace-id", "1"), ("user-agent", "test")];
    for extra in harmless {
        assert_eq!(outcome(sent(put.uri(), extra)).await.0, 200, "{extra:?}");
    }
    let validity = aws_sdk_s3::presigning::PresigningConfig::expires_in(life).unwrap();
    let get = client.get_object().bucket("local-lake").key("key").presigned(validity).await.unwrap();
    assert_eq!(outcome(http().get(get.uri())).await.0, 200);
    let owner = http().get(get.uri()).header("x-amz-expected-bucket-owner", "1");
    assert_eq!(outcome(owner).await, refused(403, "AccessDenied"));
    stack.stop().await;
}

/// The clock is paused, and no socket is involved.
#[tokio::test(start_paused = true)]
async fn a_stalled_or_broken_upload_ends_and_leaves_no_file() {
    let lake = Arc::new(lake());
    let services = Services(Arc::clone(&lake));
    let receive = async |target: &str, rest: BoxStream<'static, io::Result<&'static str>>| {
        let parts = http::Request::put(target).header("host", "localhost").body(()).unwrap().into_parts().0;
        let body = Body::from_stream(stream::iter([Ok("part")]).chain(rest));
        let response = services.receive(parts, Arriving::of(body)).await;
        let text = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        String::from_utf8_lossy(&text).into_owned()
    };
    for (target, code) in [
        ("/local-lake/key", "RequestTimeout"),
        ("/none/key", "NoSuchBucket"),
        ("/local-lake/a//b", "InvalidRequest"),
        ("/local-lake/key?X-Amz-Signature=0", "AccessDenied"),
    ] {
        let start = tokio::time::Instant::now();
        let text = receive(target, stream::pending().boxed()).await;
        assert_eq!(start.elapsed(), PATIENCE, "{target}");
        assert!(text.contains(code), "{target}: {text}");
    }
    let broken = stream::iter([Err(io::ErrorKind::ConnectionReset.into())]).boxed();
    assert!(receive("/local-lake/key", broken).await.contains("<Error>"));
    assert!(!lake.folder().join("local-lake/key").exists());
    assert_eq!(names(&lake), ["local-lake"], "no part is left");
}
