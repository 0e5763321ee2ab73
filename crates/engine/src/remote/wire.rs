//! Calls to the other DynamoDB.
use axum::body::Bytes;
use http::{StatusCode, header};
use serde_json::Value;
use uuid::Uuid;

use template::REGION;

pub(super) const JSON: &str = "application/x-amz-json-1.0";
pub(super) const TARGET: &str = "x-amz-target";

pub(super) struct Wire {
    http: reqwest::Client,
    url: String,
    authorization: String,
}

impl Wire {
    pub(super) fn new(url: &str) -> Result<Self, String> {
        // Requests to this machine must not use a proxy from the environment.
        let http = reqwest::Client::builder().no_proxy().build().map_err(|error| error.to_string())?;
        // DynamoDB Local does not verify signatures, and has a separate database for each access
        // key. A random access key gives each stack its own database.
        let credential = format!("{}/20200101/{REGION}/dynamodb/aws4_request", Uuid::new_v4().simple());
        let authorization = format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=none");
        Ok(Self { http, url: url.to_owned(), authorization })
    }

    /// Sends a call and returns the response, whatever its status.
    pub(super) async fn send(&self, target: &str, body: Bytes) -> Result<(StatusCode, Bytes), String> {
        let request = self.http.post(&self.url).header(TARGET, target).header(header::CONTENT_TYPE, JSON);
        let request =
            request.header(header::AUTHORIZATION, &self.authorization).header("x-amz-date", "20200101T000000Z");
        let answer = request.body(body).send().await.map_err(|error| error.to_string())?;
        let status = answer.status();
        Ok((status, answer.bytes().await.map_err(|error| error.to_string())?))
    }

    /// Sends a call and returns the response body. A status other than success is an error.
    pub(super) async fn ask(&self, target: &str, body: &Value) -> Result<Value, String> {
        let (status, answer) = self.send(target, body.to_string().into()).await?;
        if !status.is_success() {
            return Err(String::from_utf8_lossy(&answer).into_owned());
        }
        serde_json::from_slice(&answer).map_err(|error| error.to_string())
    }
}
