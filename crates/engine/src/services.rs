//! One endpoint for DynamoDB, Firehose and S3. A container or a tool needs only one endpoint URL.
use std::sync::Arc;

use axum::response::Response;
use http::{HeaderValue, header, request::Parts};

use crate::server::{Arriving, CorsLayer, Endpoint, Origins, Received, Refusal};

/// Endpoint that passes each request to DynamoDB or to the other services.
pub(super) struct Services<D, O> {
    pub(super) dynamodb: D,
    pub(super) others: Arc<O>,
}

impl<D: Endpoint, O: Endpoint> Endpoint for Services<D, O> {
    const MAX_BODY: usize = if D::MAX_BODY > O::MAX_BODY { D::MAX_BODY } else { O::MAX_BODY };
    const ORIGINS: Origins = Origins::None;

    fn pages(&self, parts: &Parts) -> Option<&CorsLayer> {
        if is_for_others(parts) { self.others.pages(parts) } else { None }
    }

    async fn answer(&self, request: Received) -> Response {
        if is_for_others(&request.parts) {
            self.others.answer(request).await
        } else if request.body.len() > D::MAX_BODY {
            D::refuse(Refusal::TooLarge)
        } else {
            self.dynamodb.answer(request).await
        }
    }

    fn streams(parts: &Parts) -> bool {
        is_for_others(parts) && O::streams(parts)
    }

    async fn receive(&self, parts: Parts, body: Arriving) -> Response {
        self.others.receive(parts, body).await
    }

    fn refuse(refusal: Refusal) -> Response {
        D::refuse(refusal)
    }
}

/// Calls of Firehose and Secrets Manager name it in `x-amz-target`. Calls of S3 have a bucket in
/// the path instead. The list of the buckets has none, and its signature names S3.
fn is_for_others(parts: &Parts) -> bool {
    match parts.headers.get("x-amz-target").map(HeaderValue::as_bytes) {
        Some(target) => target.starts_with(b"Firehose_") || target.starts_with(b"secretsmanager."),
        None => parts.uri.path() != "/" || is_signed_for_s3(parts),
    }
}

/// The credential of a signature is `<access key>/<date>/<region>/<service>/aws4_request`.
fn is_signed_for_s3(parts: &Parts) -> bool {
    let signed = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    signed.is_some_and(|signed| signed.starts_with("AWS4-") && signed.contains("/s3/aws4_request"))
}
