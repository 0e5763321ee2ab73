//! One endpoint for DynamoDB, Firehose and S3. A container or a tool needs only one endpoint URL.
use std::sync::Arc;

use axum::response::Response;
use http::{HeaderValue, request::Parts};

use crate::{
    lake::Lake,
    server::{Arriving, Endpoint, Origins, Received, Refusal},
};

/// Maximum size of a body that the lake does not read while it arrives.
const LAKE: usize = <Arc<Lake> as Endpoint>::MAX_BODY;

/// Endpoint that passes each request to DynamoDB or to the lake.
pub(super) struct Services<D> {
    pub(super) dynamodb: D,
    pub(super) lake: Arc<Lake>,
}

impl<D: Endpoint> Endpoint for Services<D> {
    const MAX_BODY: usize = if D::MAX_BODY > LAKE { D::MAX_BODY } else { LAKE };
    const ORIGINS: Origins = Origins::None;

    async fn answer(&self, request: Received) -> Response {
        if is_for_lake(&request.parts) {
            self.lake.answer(request).await
        } else if request.body.len() > D::MAX_BODY {
            D::refuse(Refusal::TooLarge)
        } else {
            self.dynamodb.answer(request).await
        }
    }

    fn streams(parts: &Parts) -> bool {
        is_for_lake(parts) && Arc::<Lake>::streams(parts)
    }

    async fn receive(&self, parts: Parts, body: Arriving) -> Response {
        self.lake.receive(parts, body).await
    }

    fn refuse(refusal: Refusal) -> Response {
        D::refuse(refusal)
    }
}

/// Calls of Firehose and Secrets Manager name it in `x-amz-target`. Calls of S3 have a bucket in
/// the path instead.
fn is_for_lake(parts: &Parts) -> bool {
    match parts.headers.get("x-amz-target").map(HeaderValue::as_bytes) {
        Some(target) => target.starts_with(b"Firehose_") || target.starts_with(b"secretsmanager."),
        None => parts.uri.path() != "/",
    }
}
