use aws_config::SdkConfig;
use aws_sdk_s3::{Client, config::Builder, error::DisplayErrorContext, primitives::ByteStream};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use function::{Deadline, Record};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// S3 bucket for changes that can never be sent.
#[derive(Clone)]
pub(crate) struct FailureBucket {
    client: Client,
    bucket: String,
}

impl FailureBucket {
    pub(crate) fn new(config: &SdkConfig, by_path: bool, bucket: String) -> Self {
        let config = Builder::from(config).force_path_style(by_path).build();
        Self { client: Client::from_conf(config), bucket }
    }

    /// Stores the change with the reason. Returns whether the put succeeded. Storing the same
    /// change again overwrites the object.
    pub(crate) async fn keep(&self, record: &Record, reason: &str, deadline: Deadline) -> bool {
        let body = json!({ "reason": reason, "record": record.json() }).to_string();
        let put = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(key(record))
            .content_type("application/json")
            .body(ByteStream::from(body.into_bytes()));
        match deadline.bound(put.send()).await {
            Some(Ok(_)) => return true,
            Some(Err(error)) => {
                tracing::error!(error = %DisplayErrorContext(&error), "a change could not be written to the failure bucket");
            }
            None => tracing::error!("no time was left to write to the failure bucket"),
        }
        false
    }
}

/// Returns the object key. The key contains the day of the change instead of the current day, so a
/// change always has the same key.
fn key(record: &Record) -> String {
    let day = record.created_at().unwrap_or(Timestamp::UNIX_EPOCH).strftime("%Y/%m/%d");
    format!("unsendable/{day}/{}.json", name(record.json()))
}

/// Returns the event id, or a hash of the record if the event id is missing or invalid.
fn name(record: &Value) -> String {
    let is_id = |id: &&str| {
        (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let hash = || URL_SAFE_NO_PAD.encode(Sha256::digest(record.to_string()));
    record["eventID"].as_str().filter(is_id).map_or_else(hash, str::to_owned)
}
