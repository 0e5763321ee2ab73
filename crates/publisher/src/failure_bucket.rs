use aws_config::SdkConfig;
use aws_sdk_s3::{Client, config::Builder, error::DisplayErrorContext, primitives::ByteStream};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use function::{Deadline, Record};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// S3 bucket for changes that a function could not export or publish.
#[derive(Debug, Clone)]
pub struct FailureBucket {
    config: SdkConfig,
    by_path: bool,
    bucket: String,
}

impl FailureBucket {
    /// Creates the bucket from the configuration of S3. `by_path` selects path-style requests
    /// ([`SettingsReader::s3_by_path`](function::SettingsReader::s3_by_path)).
    pub fn new(config: SdkConfig, by_path: bool, bucket: String) -> Self {
        Self { config, by_path, bucket }
    }

    /// Stores the change with the reason. Returns whether the put succeeded. Storing the same
    /// change again overwrites the object.
    pub async fn keep(&self, record: &Record, reason: &str, deadline: Deadline) -> bool {
        let body = json!({ "reason": reason, "record": record.json() }).to_string();
        // Functions that never keep a change do not contain the client.
        let client = Client::from_conf(Builder::from(&self.config).force_path_style(self.by_path).build());
        let put = client
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
