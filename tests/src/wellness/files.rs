//! Helpers that upload and download files by presigned URLs.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Returns the body of a request to create a file with this content.
pub fn file_of(name: &str, content_type: &str, content: &[u8]) -> Value {
    let digest = Sha256::digest(content);
    let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    json!({"name": name, "contentType": content_type, "bytes": content.len(), "sha256": sha256})
}

fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

/// Sends the content as the response to the creation of a file says. Returns the status.
pub async fn upload_file(upload: &Value, content: &[u8]) -> u16 {
    let mut put = http().put(upload["url"].as_str().expect("a URL"));
    for (name, value) in upload["headers"].as_object().expect("headers") {
        put = put.header(name, value.as_str().expect("a text"));
    }
    put.body(content.to_vec()).send().await.expect("a response").status().as_u16()
}

/// Downloads a URL. Returns the status, the header `content-disposition` and the content.
pub async fn download(url: &str) -> (u16, String, Vec<u8>) {
    let answer = http().get(url).send().await.expect("a response");
    let name = answer.headers().get("content-disposition").map(|name| name.to_str().expect("a text").to_owned());
    (answer.status().as_u16(), name.unwrap_or_default(), answer.bytes().await.expect("content").to_vec())
}
