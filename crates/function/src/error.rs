use crate::Problem;
use http::{HeaderValue, StatusCode, Uri};
use lambda_http::{Body, Response};
use lambda_runtime::Diagnostic;
use problem_details::ProblemDetails;
use serde::Serialize;

/// A fault in a request. The JSON pointer starts with `/body`, `/query`, `/path` or `/header`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The location of the fault, such as `/body/scheduledTime`.
    pub pointer: String,
    /// The description of the fault.
    pub detail: String,
}

/// Maximum number of faults in a response.
const MAX_FAULTS: usize = 20;
/// Maximum length of a pointer or a description in a response, in characters.
const MAX_FAULT: usize = 256;

impl Fault {
    /// Returns the fault with shortened texts.
    fn shortened(&self) -> Self {
        Self { pointer: shortened(&self.pointer), detail: shortened(&self.detail) }
    }
}

/// Returns the text, cut after [`MAX_FAULT`] characters.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_FAULT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the first faults, which a response lists. The texts of faults come from the request, so
/// without a limit, a response could be larger than its request.
fn listed(faults: &[Fault]) -> Vec<Fault> {
    faults.iter().take(MAX_FAULTS).map(Fault::shortened).collect()
}

fn described(faults: &[Fault]) -> String {
    let texts: Vec<_> =
        listed(faults).into_iter().map(|Fault { pointer, detail }| format!("{pointer}: {detail}")).collect();
    texts.join("; ")
}

/// The reason for a failed request. Each error maps to a problem type of RFC 9457.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// 400: the request is invalid. Contains all faults.
    #[error("invalid: {}", described(.0))]
    Invalid(Vec<Fault>),
    /// 403: the resource belongs to another caller.
    #[error("forbidden")]
    Forbidden,
    /// 403: the request requires the operator scope of this domain.
    #[error("only for operators of {0}")]
    OperatorsOnly(String),
    /// 404: the resource does not exist.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// 409 or 429: the request conflicts with the stored items, or with running jobs. Contains the
    /// problem type and its `detail`.
    #[error("{name}: {1}", name = .0.name())]
    Conflict(Problem, String),
    /// 404 or 409 with further members, which describe the current state.
    #[error("{name}: {1}", name = .0.name())]
    Differs(Problem, String, serde_json::Map<String, serde_json::Value>),
    /// 412: the resource has changed since the version in the request.
    #[error("the stored version differs")]
    AnotherVersion,
    /// 413: the request or the list is too large.
    #[error("too large: {0}")]
    TooLarge(String),
    /// 415: the content type of the body is not JSON.
    #[error("unsupported media type")]
    UnsupportedMediaType,
    /// 422: the idempotency key was already used for a different request.
    #[error("the idempotency key was already used for a different request")]
    KeyReused,
    /// 429, 503 or 500: a DynamoDB call failed. The status depends on the cause.
    #[error(transparent)]
    Table(#[from] table::Error),
    /// 500: a defect in the code or the deployment.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// Creates the error for an inconsistent or outdated read. The caller must read again.
    pub fn stale() -> Self {
        Self::Table(table::Error::Contended { throttled: false })
    }

    /// Creates an error with one fault.
    pub fn invalid(pointer: &str, detail: impl std::fmt::Display) -> Self {
        Self::Invalid(vec![Fault { pointer: pointer.to_owned(), detail: detail.to_string() }])
    }

    /// Returns the problem type and the `detail`. The `detail` contains no data of other callers.
    fn problem(&self) -> (Problem, String) {
        use table::Error as Store;
        const AGAIN: &str = "Retry the same request after a short wait.";
        let (problem, detail) = match self {
            Self::Invalid(faults) => {
                let names: Vec<String> = listed(faults).into_iter().map(|fault| fault.pointer).collect();
                let others = match faults.len().saturating_sub(MAX_FAULTS) {
                    0 => String::new(),
                    others => format!(", and {others} more"),
                };
                return (Problem::InvalidRequest, format!("See errors: {}{others}.", names.join(", ")));
            }
            Self::OperatorsOnly(domain) => {
                return (Problem::Forbidden, format!("This request requires the scope {domain}:operate."));
            }
            Self::NotFound(what) => return (Problem::NotFound, format!("There is no such {what}.")),
            Self::Conflict(problem, detail) | Self::Differs(problem, detail, _) => (*problem, detail.as_str()),
            Self::TooLarge(detail) => (Problem::TooLarge, detail.as_str()),
            Self::Forbidden => (Problem::Forbidden, "The resource does not belong to the caller."),
            Self::AnotherVersion => {
                (Problem::AnotherVersion, "The resource has changed. Read it again and send its current version.")
            }
            Self::UnsupportedMediaType => (Problem::UnsupportedMediaType, "Send the body as application/json."),
            Self::KeyReused => {
                (Problem::IdempotencyKeyReused, "The Idempotency-Key was already used for a different request.")
            }
            Self::Table(Store::Throttled | Store::Contended { throttled: true }) => (Problem::Throttled, AGAIN),
            Self::Table(Store::Contended { .. } | Store::Unavailable(_) | Store::Underway) => {
                (Problem::Unavailable, AGAIN)
            }
            Self::Table(Store::TooMuch) => {
                (Problem::TooLarge, "The response would be too large. Request a shorter range.")
            }
            Self::Table(_) | Self::Internal(_) => (Problem::Internal, "The error is logged."),
        };
        (problem, detail.to_owned())
    }

    /// Converts the error to an HTTP response. `instance` is the request id.
    ///
    /// Only this function converts errors to HTTP.
    pub(crate) fn response(&self, instance: &str) -> Response<Body> {
        #[derive(Serialize)]
        struct Extensions {
            #[serde(skip_serializing_if = "Option::is_none")]
            errors: Option<Vec<Fault>>,
            #[serde(flatten)]
            current: serde_json::Map<String, serde_json::Value>,
        }
        let (problem_type, detail) = self.problem();
        let errors = if let Self::Invalid(faults) = self { Some(listed(faults)) } else { None };
        let current = if let Self::Differs(_, _, current) = self { current.clone() } else { serde_json::Map::new() };
        let code = StatusCode::from_u16(problem_type.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut problem = ProblemDetails::from_status_code(code).with_title(problem_type.title()).with_detail(detail);
        if let Ok(kind) = format!("/problems/{}", problem_type.name()).parse::<Uri>() {
            problem = problem.with_type(kind);
        }
        if let Ok(instance) = instance.parse::<Uri>() {
            problem = problem.with_instance(instance);
        }
        let body = serde_json::to_string(&problem.with_extensions(Extensions { errors, current })).unwrap_or_default();
        let mut response = Response::new(Body::Text(body));
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = problem_type.retry_after() {
            headers.insert("retry-after", HeaderValue::from_static(seconds));
        }
        response
    }

    /// Returns the status and the problem for one of the outcomes in a response. Logs and counts a
    /// defect, because the response itself succeeds.
    pub fn as_part(&self) -> (u16, serde_json::Value) {
        let (problem, detail) = self.problem();
        if self.is_defect() {
            metrics::counter!("Defects").increment(1);
            tracing::error!(error = %self, "a part of a request failed");
        }
        let (kind, title, status) = (format!("/problems/{}", problem.name()), problem.title(), problem.status());
        (status, serde_json::json!({"type": kind, "title": title, "status": status, "detail": detail}))
    }

    /// Returns the name of the problem type, for logs.
    pub(crate) fn kind(&self) -> &'static str {
        self.problem().0.name()
    }

    /// Whether the error is a defect, which a developer must investigate.
    pub(crate) fn is_defect(&self) -> bool {
        self.problem().0 == Problem::Internal
    }

    /// Whether a retry of the same request may succeed later.
    pub fn is_outage(&self) -> bool {
        matches!(self.problem().0, Problem::Throttled | Problem::Unavailable)
    }
}

/// Runs an attempt, and retries it while other writes conflict with it.
///
/// This function does not retry throttled calls, because retries would consume even more capacity.
///
/// # Errors
/// Returns the error of the last attempt. The status is 503 if writes still conflict.
pub async fn optimistically<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    use table::Error as Store;
    let stale =
        |error: &Error| matches!(error, Error::Table(Store::Refused(_) | Store::Contended { throttled: false }));
    table::optimistically(|| Box::pin(attempt()), stale).await.map_err(|error| match error {
        Error::Table(Store::Refused(_)) => Error::stale(),
        other => other,
    })
}

impl From<Error> for Diagnostic {
    fn from(error: Error) -> Self {
        Self { error_type: error.kind().to_owned(), error_message: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_lists_a_limited_number_of_shortened_faults() {
        let fault =
            |number: usize| Fault { pointer: format!("/body/{}", "é".repeat(number)), detail: "x".repeat(number) };
        let error = Error::Invalid((0..10_000).map(fault).collect());
        let response = error.response("R-1");
        let Body::Text(body) = response.body() else { panic!("{response:?}") };
        assert!(body.len() < 32 * 1024 && error.to_string().len() < 32 * 1024, "{} bytes", body.len());
        let problem: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(problem["errors"].as_array().map(Vec::len), Some(20));
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.ends_with(", and 9980 more.")), "{problem}");
        let long = Error::invalid("/body/a", "x".repeat(1_000)).response("R-1");
        let Body::Text(body) = long.body() else { panic!("{long:?}") };
        assert!(body.contains(&format!("{}…", "x".repeat(256))), "{body}");
    }

    #[test]
    fn another_version_is_412_precondition_failed() {
        let response = Error::AnotherVersion.response("R-1");
        let Body::Text(body) = response.body() else { panic!("{response:?}") };
        let problem: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!((response.status().as_u16(), &problem["status"]), (412, &412.into()));
        assert_eq!((&problem["type"], &problem["instance"]), (&"/problems/another-version".into(), &"R-1".into()));
        assert!(!response.headers().contains_key("retry-after"), "a retry of the same request must not be suggested");
        assert!(!Error::AnotherVersion.is_defect() && !Error::AnotherVersion.is_outage());
    }
}
