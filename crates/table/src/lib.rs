//! How we talk to DynamoDB.
mod usage;
pub use usage::{Call, Units, Usage};

/// A DynamoDB client whose calls are counted.
#[derive(Debug, Clone)]
pub struct Dynamo {
    #[allow(dead_code)]
    client: aws_sdk_dynamodb::Client,
}

impl Dynamo {
    /// Wraps a client, built once a process.
    #[must_use]
    pub fn new(client: aws_sdk_dynamodb::Client) -> Self {
        Self { client }
    }
}
