use std::{
    env,
    path::Path,
    sync::{Mutex, PoisonError},
};

use function::Invocation;

use super::*;
use crate::{Stack, lambda::Bind};

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Resources:
  Inbox:
    Type: AWS::S3::Bucket
  Failed:
    Type: AWS::S3::Bucket
  Import:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/import
      EventInvokeConfig:
        MaximumRetryAttempts: 1
        MaximumEventAgeInSeconds: 600
        DestinationConfig: {OnFailure: {Type: S3Bucket, Destination: !GetAtt Failed.Arn}}
      Events:
        Created:
          Type: S3
          Properties:
            Bucket: !Ref Inbox
            Events: s3:ObjectCreated:*
            Filter: {S3Key: {Rules: [{Name: prefix, Value: inbox/}, {Name: suffix, Value: .csv}]}}
";

/// Keys of the objects that the function has received.
type Keys = Arc<Mutex<Vec<String>>>;

/// Function that fails for the first `failures` events.
fn import(seen: &Keys, failures: usize) -> Vec<(String, Bind)> {
    let seen = Arc::clone(seen);
    let bind: Bind = Box::new(move |_, _| {
        let seen = Arc::clone(&seen);
        Ok(Arc::new(move |event, _| {
            let key = event["Records"][0]["s3"]["object"]["key"].as_str().unwrap_or_default().to_owned();
            let count = {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.push(key);
                seen.len()
            };
            Box::pin(async move {
                let failure = function::Diagnostic { error_type: "E".to_owned(), error_message: "no".to_owned() };
                let answer = if count <= failures { Err(failure) } else { Ok(Value::Null) };
                Invocation { answer, usage: table::Usage::default() }
            })
        }))
    });
    vec![("import".to_owned(), bind)]
}

async fn put(stack: &Stack, path: &str) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let put = http.put(format!("{}/{path}", stack.services_url())).body("a").send().await.unwrap();
    assert_eq!(put.status(), 200);
}

async fn until(mut is_met: impl FnMut() -> bool) {
    while !is_met() {
        sleep(Duration::from_millis(5)).await;
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn a_failed_invocation_is_repeated_and_then_discarded() {
    let seen = Keys::default();
    let stack = Stack::of_text(TEMPLATE).bound(import(&seen, 2)).start().await.unwrap();
    put(&stack, "local-inbox/inbox/a.csv").await;
    let failed = stack.lake().join("local-failed/aws/lambda/async/import");
    until(|| !files(&failed).is_empty()).await;
    let document: Value = serde_json::from_slice(&fs::read(&files(&failed)[0]).unwrap()).unwrap();
    assert_eq!(document["requestContext"]["condition"], "RetriesExhausted");
    assert_eq!(document["requestContext"]["approximateInvokeCount"], 2);
    assert_eq!(document["requestPayload"]["Records"][0]["s3"]["object"]["key"], "inbox/a.csv");
    assert_eq!(document["responsePayload"], json!({"errorMessage": "no", "errorType": "E"}));
    put(&stack, "local-inbox/inbox/b.csv").await;
    until(|| seen.lock().unwrap().len() == 3).await;
    stack.stop().await;
}

#[tokio::test]
async fn the_next_start_delivers_the_events_that_remain() {
    let folder = env::temp_dir().join(format!("lake-{}", Uuid::new_v4()));
    let seen = Keys::default();
    let stack = Stack::of_text(TEMPLATE).lake(&folder).bound(import(&seen, usize::MAX)).start().await.unwrap();
    put(&stack, "local-inbox/inbox/a.csv").await;
    until(|| seen.lock().unwrap().len() == 1).await;
    // Dropping the stack ends it in the pause before the retry.
    drop(stack);
    let stack = Stack::of_text(TEMPLATE).lake(&folder).bound(import(&seen, 0)).start().await.unwrap();
    until(|| seen.lock().unwrap().len() >= 2).await;
    until(|| files(&folder.join(".s3/events")).is_empty()).await;
    stack.stop().await;
    fs::remove_dir_all(folder).unwrap();
}
