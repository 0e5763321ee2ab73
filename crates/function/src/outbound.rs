//! HTTP calls to services outside AWS.

use crate::{Deadline, environment};
use aws_smithy_http_client::Connector;
use aws_smithy_runtime_api::{
    client::{
        http::{HttpConnector, HttpConnectorSettings, SharedHttpConnector},
        orchestrator::HttpRequest,
    },
    http::HttpError,
};
use aws_smithy_types::body::SdkBody;
use http_body_util::{BodyExt, Limited};
use std::time::Duration;

/// Time limit for opening a connection.
const CONNECT: Duration = Duration::from_secs(2);

/// A client for HTTP calls to services outside AWS. Clones share connections.
///
/// It is the HTTP client of the AWS SDK, which is already part of each function, and follows no
/// redirects. It trusts the root certificates of the operating system, because such a service can
/// have a certificate of any authority. `AWS_CA_BUNDLE` or `SSL_CERT_FILE` replaces them.
#[derive(Debug, Clone)]
pub struct HttpClient(SharedHttpConnector);

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// The body, or `None` if it is longer than the limit of the call or was cut off.
    pub body: Option<Vec<u8>>,
}

/// The reason why a call has no response. The receiver may nevertheless have processed it.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No response arrived in time.
    #[error("no response in time")]
    TimedOut,
    /// The connection or the request failed.
    #[error("{0}")]
    Failed(String),
}

impl HttpClient {
    /// Creates a client. Reads the root certificates, which takes some milliseconds.
    ///
    /// # Errors
    /// `AWS_CA_BUNDLE` or `SSL_CERT_FILE` names a file that is not a list of certificates.
    pub fn new() -> Result<Self, String> {
        let (provider, context) = environment::outbound_tls().map_err(|error| error.to_string())?;
        let settings = HttpConnectorSettings::builder().connect_timeout(CONNECT).build();
        let connector = Connector::builder().connector_settings(settings).sleep_impl(environment::sleep());
        Ok(Self(SharedHttpConnector::new(connector.tls_provider(provider).tls_context(context).build())))
    }

    /// Sends a JSON body. Reads at most `max_bytes` of the response.
    ///
    /// # Errors
    /// [`CallError`] if no status arrives before the deadline.
    pub async fn post_json(
        &self,
        url: &str,
        headers: &[(&'static str, &str)],
        body: Vec<u8>,
        max_bytes: usize,
        until: Deadline,
    ) -> Result<HttpReply, CallError> {
        let failed = |error: HttpError| CallError::Failed(error.to_string());
        let mut request = HttpRequest::new(SdkBody::from(body));
        request.set_method("POST").map_err(failed)?;
        request.set_uri(url).map_err(failed)?;
        let own = [("content-type", "application/json"), ("accept", "application/json")];
        for (name, value) in own.into_iter().chain(headers.iter().copied()) {
            request.headers_mut().try_insert(name, value.to_owned()).map_err(failed)?;
        }
        let call = async {
            let response = self.0.call(request).await.map_err(|error| CallError::Failed(reason(&error)))?;
            let status = response.status().as_u16();
            let body = until.bound(Limited::new(response.into_body(), max_bytes).collect()).await;
            Ok(HttpReply { status, body: body.and_then(Result::ok).map(|body| body.to_bytes().to_vec()) })
        };
        until.bound(call).await.unwrap_or(Err(CallError::TimedOut))
    }
}

/// Returns the text of an error and its causes.
fn reason(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
