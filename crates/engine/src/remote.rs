//! Proxy to another DynamoDB, such as DynamoDB Local, which replaces the embedded engine
//! (docs/decisions/real-binaries.md).
mod stream;
mod wire;

use axum::{
    body::Bytes,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use crate::{
    StartError,
    server::{Endpoint, Origins, Received, Refusal},
    store::Store,
};
use stream::Stream;
use template::Table;
use wire::{JSON, TARGET, Wire};

const WRITES: [&str; 5] = ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"];

/// Connection of a stack to another DynamoDB.
pub(crate) struct Remote {
    wire: Wire,
    streams: Vec<Stream>,
}

impl Remote {
    /// Creates the tables in the other DynamoDB and opens their streams. The proxy copies the
    /// stream records to the store.
    pub(crate) async fn start(url: &str, tables: &[Table], store: &Store) -> Result<Self, StartError> {
        let wire = Wire::new(url).map_err(StartError::Client)?;
        let mut streams = Vec::new();
        for table in tables {
            let made = make(&wire, table, store).await;
            streams.extend(made.map_err(|error| StartError::Table(table.name.clone(), error))?);
        }
        Ok(Self { wire, streams })
    }

    async fn forward(&self, target: &str, body: Bytes) -> Result<(StatusCode, Bytes), String> {
        let answer = self.wire.send(target, body.clone()).await?;
        let action = target.rsplit('.').next().unwrap_or_default();
        if WRITES.contains(&action) {
            // Copy the stream records before the response to a write is returned. The pending
            // records then already include this write.
            let request = String::from_utf8_lossy(&body);
            for stream in self.streams.iter().filter(|stream| stream.is_named_in(&request)) {
                stream.read(&self.wire).await?;
            }
        }
        Ok(answer)
    }
}

/// Creates the table and opens its stream, if it has one.
async fn make(wire: &Wire, table: &Table, store: &Store) -> Result<Option<Stream>, String> {
    let made: Value = wire.ask("DynamoDB_20120810.CreateTable", &table.definition).await?;
    match made["TableDescription"]["LatestStreamArn"].as_str() {
        Some(arn) => Stream::open(wire, arn, &table.name, store.clone()).await.map(Some),
        None => Ok(None),
    }
}

impl Endpoint for Remote {
    const MAX_BODY: usize = 16 * 1024 * 1024;
    const ORIGINS: Origins = Origins::None;

    async fn answer(&self, request: Received) -> Response {
        match self.forward(target(&request.parts.headers), request.body).await {
            Ok((status, body)) => (status, [(header::CONTENT_TYPE, JSON)], body).into_response(),
            Err(error) => {
                tracing::error!(error, "the other DynamoDB does not respond");
                StatusCode::BAD_GATEWAY.into_response()
            }
        }
    }

    fn refuse(refusal: Refusal) -> Response {
        (refusal.status(), refusal.detail()).into_response()
    }
}

fn target(headers: &HeaderMap) -> &str {
    headers.get(TARGET).and_then(|target| target.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
