use crate::Problem;
use http::{HeaderValue, StatusCode, Uri};
use lambda_http::{Body, Response};
use lambda_runtime::Diagnostic;
use problem_details::ProblemDetails;
use serde::Serialize;

/// One thing wrong with a request, and where: a JSON pointer into `body`, `query`, `path` or `header`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Such as `/body/scheduledTime`.
    pub pointer: String,
    /// What is wrong with it.
    pub detail: String,
}

/// Why a request is not answered as asked; each maps to one problem of RFC 9457.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// 400: the request can't be read; all faults at once.
    #[error("invalid: {}", .0.iter().map(|fault| format!("{}: {}", fault.pointer, fault.detail)).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Fault>),
    /// 403: another's account, or a scope that the caller lacks.
    #[error("forbidden")]
    Forbidden,
    /// 404: there is no such thing.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// 409: what is stored does not allow it; the problem type and a sentence.
    #[error("{name}: {1}", name = .0.name())]
    Conflict(Problem, String),
    /// 412: it was changed since the version that the caller names.
    #[error("another version is stored")]
    AnotherVersion,
    /// 413: more than can be stored.
    #[error("too large: {0}")]
    TooLarge(String),
    /// 415: the body is not JSON by its content type.
    #[error("unsupported media type")]
    UnsupportedMediaType,
    /// 422: the idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// 429, 503 or 500, by what became of the call.
    #[error(transparent)]
    Table(#[from] table::Error),
    /// 500: a defect.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// What was read did not fit together, or was changed since: to be read again.
    #[must_use]
    pub fn stale() -> Self {
        Self::Table(table::Error::Contended { throttled: false })
    }

    /// One fault in the request.
    #[must_use]
    pub fn invalid(pointer: &str, detail: impl std::fmt::Display) -> Self {
        Self::Invalid(vec![Fault { pointer: pointer.to_owned(), detail: detail.to_string() }])
    }

    /// The problem type, and a sentence that shows nothing of another caller's.
    fn problem(&self) -> (Problem, String) {
        use table::Error as Store;
        const AGAIN: &str = "Send the same request again a little later.";
        let (problem, detail) = match self {
            Self::Invalid(faults) => {
                let names: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
                return (Problem::InvalidRequest, format!("See errors: {}.", names.join(", ")));
            }
            Self::NotFound(what) => return (Problem::NotFound, format!("There is no such {what}.")),
            Self::Conflict(problem, detail) => (*problem, detail.as_str()),
            Self::TooLarge(detail) => (Problem::TooLarge, detail.as_str()),
            Self::Forbidden => (Problem::Forbidden, "The caller may not do this here."),
            Self::AnotherVersion => {
                (Problem::AnotherVersion, "It was changed since: read it again, and send the version that it has now.")
            }
            Self::UnsupportedMediaType => (Problem::UnsupportedMediaType, "Send the body as application/json."),
            Self::KeyReused => {
                (Problem::IdempotencyKeyReused, "This Idempotency-Key came with another request before.")
            }
            Self::Table(Store::Throttled | Store::Contended { throttled: true }) => (Problem::Throttled, AGAIN),
            Self::Table(Store::Contended { .. } | Store::Unavailable(_) | Store::Underway) => {
                (Problem::Unavailable, AGAIN)
            }
            Self::Table(Store::TooMuch) => {
                (Problem::TooLarge, "There is more than one answer can hold: ask for a shorter range.")
            }
            Self::Table(_) | Self::Internal(_) => (Problem::Internal, "The error is logged."),
        };
        (problem, detail.to_owned())
    }

    /// The one place where an error becomes HTTP. `instance` is the request id.
    pub(crate) fn response(&self, instance: &str) -> Response<Body> {
        #[derive(Serialize)]
        struct Extensions<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            errors: Option<&'a [Fault]>,
        }
        let (problem_type, detail) = self.problem();
        let errors = if let Self::Invalid(faults) = self { Some(faults.as_slice()) } else { None };
        let code = StatusCode::from_u16(problem_type.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut problem = ProblemDetails::from_status_code(code).with_title(problem_type.title()).with_detail(detail);
        if let Ok(kind) = format!("/problems/{}", problem_type.name()).parse::<Uri>() {
            problem = problem.with_type(kind);
        }
        if let Ok(instance) = instance.parse::<Uri>() {
            problem = problem.with_instance(instance);
        }
        let body = serde_json::to_string(&problem.with_extensions(Extensions { errors })).unwrap_or_default();
        let mut response = Response::new(Body::Text(body));
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("application/problem+json"));
        if self.is_outage() {
            headers.insert("retry-after", HeaderValue::from_static("1"));
        }
        response
    }

    /// The name of its problem type, for logs.
    pub(crate) fn kind(&self) -> &'static str {
        self.problem().0.name()
    }

    /// Whether somebody has to look at it.
    pub(crate) fn is_defect(&self) -> bool {
        self.problem().0 == Problem::Internal
    }

    /// Whether what was wanted can't be done now, although nothing is wrong with it.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        matches!(self.problem().0, Problem::Throttled | Problem::Unavailable)
    }
}

/// Does the attempt again while other writes get in between. Not where capacity is missing, which more calls only use up.
///
/// # Errors
/// The last try's, as 503 where others kept getting in between; or whatever is no matter of theirs.
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
    fn another_version_is_a_failed_precondition() {
        let response = Error::AnotherVersion.response("R-1");
        let Body::Text(body) = response.body() else { panic!("{response:?}") };
        let problem: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!((response.status().as_u16(), &problem["status"]), (412, &412.into()));
        assert_eq!((&problem["type"], &problem["instance"]), (&"/problems/another-version".into(), &"R-1".into()));
        assert!(!response.headers().contains_key("retry-after"), "the same request again won't do");
        assert!(!Error::AnotherVersion.is_defect() && !Error::AnotherVersion.is_outage());
    }
}
