//! The adapter of an external service: a payment is a POST to a URL.

use super::{Order, Outcome, Reason, TransactionService};
use aws_sdk_secretsmanager::Client;
use function::{CallError, Clients, Deadline, HttpClient, HttpReply, SettingsReader};
use http::Uri;
use keys::{AccountId, TimestampSeconds, TransactionId, bank::PaymentId};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::Arc, time::Duration};
use table::JsonText;
use tokio::sync::Mutex;

/// Maximum size of a response in bytes. A longer response counts as unreadable.
const MAX_BYTES: usize = 16 * 1024;
/// Default time limit of a call in seconds.
const TIMEOUT: u64 = 10;

/// Pays with an external service.
#[derive(Debug, Clone)]
pub struct HttpService {
    http: HttpClient,
    url: ServiceUrl,
    timeout: Duration,
    secret: Arc<Secret>,
}

/// The URL of the service: https, or http to this machine for tests.
#[derive(Debug, Clone)]
struct ServiceUrl(String);

impl FromStr for ServiceUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text.parse().map_err(|_| "must be a URL")?;
        let is_local = uri.host().is_some_and(|host| matches!(host, "127.0.0.1" | "localhost"));
        match uri.scheme_str() {
            Some("https") if uri.host().is_some() => Ok(Self(text.to_owned())),
            Some("http") if is_local => Ok(Self(text.to_owned())),
            _ => Err("must be an https URL"),
        }
    }
}

/// The body of a call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    payment_id: PaymentId,
    account_id: &'a AccountId,
    scheduled_time: TimestampSeconds,
    #[serde(with = "table::raw_json")]
    data: JsonText,
}

/// The response to a completed payment. It may have other members.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Receipt {
    transaction_id: TransactionId,
}

/// The response to a rejected payment: a problem of RFC 9457, or any other body.
#[derive(Debug, Default, Deserialize)]
struct Problem {
    detail: Option<String>,
    title: Option<String>,
}

impl HttpService {
    /// Reads `TRANSACTION_SERVICE_URL` and `TRANSACTION_SERVICE_SECRET_ARN`, and optionally
    /// `TRANSACTION_SERVICE_TIMEOUT` in seconds.
    pub fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let url = settings.get("TRANSACTION_SERVICE_URL");
        let secret = settings.get::<String>("TRANSACTION_SERVICE_SECRET_ARN");
        let seconds = settings.optional("TRANSACTION_SERVICE_TIMEOUT").unwrap_or(TIMEOUT);
        let http = match HttpClient::new() {
            Ok(http) => Some(http),
            Err(error) => settings.fault(error),
        };
        let secret = Secret::new(clients, secret?);
        Some(Self { http: http?, url: url?, timeout: Duration::from_secs(seconds), secret: Arc::new(secret) })
    }

    /// Reads the secret, so that the first payment does not wait for it.
    pub async fn warm_up(&self) {
        let _ = self.secret.current().await;
    }

    async fn call(&self, key: &str, body: &[u8], secret: &str, until: Deadline) -> Result<HttpReply, Reason> {
        let bearer = format!("Bearer {secret}");
        let headers = [("idempotency-key", key), ("authorization", bearer.as_str())];
        let until = until.at_most(self.timeout);
        self.http.post_json(&self.url.0, &headers, body.to_vec(), MAX_BYTES, until).await.map_err(|error| {
            tracing::warn!(%error, "the transaction service is not available");
            let why = if matches!(error, CallError::TimedOut) { "in time" } else { "at all" };
            Reason::new(&format!("The transaction service did not answer {why}."))
        })
    }

    /// Calls the service. If it rejects the secret, and the stored secret is another by now, calls
    /// it once more.
    async fn pay(&self, order: &Order<'_>) -> Result<HttpReply, Reason> {
        let payment = order.payment;
        let body = Body {
            payment_id: payment.id(),
            account_id: &payment.account,
            scheduled_time: payment.id().time(),
            data: payment.data.clone(),
        };
        let body = serde_json::to_vec(&body).map_err(|_| Reason::new("The payment cannot be sent."))?;
        let key = payment.id().to_string();
        let secret = self.secret.current().await?;
        let reply = self.call(&key, &body, &secret, order.until).await?;
        if !matches!(reply.status, 401 | 403) {
            return Ok(reply);
        }
        match self.secret.other_than(&secret).await? {
            Some(other) => self.call(&key, &body, &other, order.until).await,
            None => Ok(reply),
        }
    }
}

impl TransactionService for HttpService {
    async fn execute(&self, order: &Order<'_>) -> Outcome {
        match order.until.bound(self.pay(order)).await {
            Some(Ok(reply)) => outcome(&reply),
            Some(Err(reason)) => Outcome::Unavailable(reason),
            None => Outcome::unavailable("The transaction service did not answer in time."),
        }
    }
}

/// Interprets a response. Only statuses that are certain to be final reject a payment: 409 can
/// mean that a call with the same key is in progress, and 401 and 403 say nothing about it.
fn outcome(reply: &HttpReply) -> Outcome {
    let status = reply.status;
    match (status, &reply.body) {
        (200..=299, Some(body)) => match receipt(body) {
            Some(receipt) => Outcome::Completed(receipt.transaction_id),
            None => Outcome::unavailable("The transaction service answered without a valid transactionId."),
        },
        (200..=299, None) => Outcome::unavailable("The answer of the transaction service is too long or incomplete."),
        (400 | 404 | 410 | 422, body) => {
            let problem: Problem = body.as_ref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
            let why = problem.detail.or(problem.title).unwrap_or_default();
            Outcome::rejected(&format!("The transaction service answered {status}. {why}"))
        }
        _ => Outcome::unavailable(&format!("The transaction service answered {status}.")),
    }
}

fn receipt(body: &[u8]) -> Option<Receipt> {
    // A derived deserializer would also accept an array.
    let is_object = body.trim_ascii_start().starts_with(b"{");
    serde_json::from_slice(body).ok().filter(|_| is_object)
}

/// The secret that authenticates the bank. It is read once, and again when the service rejects it.
struct Secret {
    client: Client,
    arn: String,
    kept: Mutex<Option<Arc<str>>>,
}

/// Does not print the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Secret").field("arn", &self.arn).finish_non_exhaustive()
    }
}

impl Secret {
    fn new(clients: &Clients, arn: String) -> Self {
        Self { client: Client::new(&clients.config("secretsmanager")), arn, kept: Mutex::default() }
    }

    async fn current(&self) -> Result<Arc<str>, Reason> {
        let mut kept = self.kept.lock().await;
        if let Some(secret) = &*kept {
            return Ok(Arc::clone(secret));
        }
        self.read(&mut kept).await
    }

    /// Returns the stored secret if it differs from the rejected one.
    async fn other_than(&self, rejected: &Arc<str>) -> Result<Option<Arc<str>>, Reason> {
        let mut kept = self.kept.lock().await;
        // Another payment may have read the secret in the meantime.
        let known = kept.clone().filter(|secret| secret != rejected);
        let secret = match known {
            Some(secret) => secret,
            None => self.read(&mut kept).await?,
        };
        Ok((secret != *rejected).then_some(secret))
    }

    async fn read(&self, kept: &mut Option<Arc<str>>) -> Result<Arc<str>, Reason> {
        let answer = self.client.get_secret_value().secret_id(&self.arn).send().await;
        let text = answer.map_err(|error| {
            let error = aws_sdk_secretsmanager::error::DisplayErrorContext(&error);
            tracing::error!(%error, "the secret of the transaction service cannot be read");
            Reason::new("The secret of the transaction service cannot be read.")
        })?;
        let secret: Arc<str> = text.secret_string().unwrap_or_default().trim().into();
        if secret.is_empty() {
            return Err(Reason::new("The secret of the transaction service is empty."));
        }
        *kept = Some(Arc::clone(&secret));
        Ok(secret)
    }
}
