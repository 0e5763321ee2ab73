//! Emulation of IAM roles. Denies calls that the function's policy does not allow, and records used
//! permissions (docs/decisions/permissions.md).
use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::{
    Credentials, HttpClient, RuntimeComponents, SharedCredentialsProvider, SharedHttpClient,
    http::{HttpRequest, HttpResponse},
};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use objects::{Allows, SECRET_KEY};
use template::{ACCOUNT, Lambda, REGION, Statement};

#[cfg(test)]
mod tests;

/// Role of a function, with the statements of its policy.
#[derive(Debug)]
pub(crate) struct Role {
    function: String,
    statements: Vec<Statement>,
    notes: Option<Arc<Notes>>,
}

/// Permission that is required for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Need {
    action: String,
    resource: String,
    /// Partition key, if the request has one.
    key: Option<String>,
}

impl Role {
    pub(crate) fn new(lambda: &Lambda, notes: Option<Arc<Notes>>) -> Self {
        Self { function: lambda.name.clone(), statements: lambda.statements.clone(), notes }
    }

    /// Returns a client configuration that checks each call against this role.
    pub(crate) fn assume(self, config: &SdkConfig) -> SdkConfig {
        let Some(inner) = config.http_client() else { return config.clone() };
        let credentials = Credentials::new(self.function.clone(), SECRET_KEY, None, None, "local");
        let config = config.to_builder().credentials_provider(SharedCredentialsProvider::new(credentials));
        config.http_client(Assumed { inner, role: Arc::new(self) }).build()
    }

    /// Returns whether the policy allows a request to S3 that the function has signed for another
    /// client.
    pub(crate) fn allows_s3(self) -> Allows {
        Box::new(move |method, path, query| self.allows(&of_s3(method, path, query.unwrap_or_default())))
    }

    /// Returns the error response if the policy does not allow the call, otherwise `None`.
    fn refuse(&self, request: &HttpRequest) -> Option<HttpResponse> {
        let needs = needs(request);
        let missing = needs.iter().find(|need| !self.allows(need))?;
        Some(self.refusal(missing))
    }

    fn allows(&self, need: &Need) -> bool {
        let allowing = self.statements.iter().find_map(|statement| need.allowed_by(statement));
        if let (Some((resource, key)), Some(notes)) = (allowing, &self.notes) {
            notes.add(&[&self.function, &need.action, resource, key]);
        }
        allowing.is_some()
    }

    fn refusal(&self, Need { action, resource, .. }: &Need) -> HttpResponse {
        let who = format!("arn:aws:sts::{ACCOUNT}:assumed-role/{0}/{0}", self.function);
        let message = format!("User: {who} is not authorized to perform: {action} on resource: {resource}");
        tracing::error!(message);
        let (status, body) = if action.starts_with("s3:") {
            (403, format!("<Error><Code>AccessDenied</Code><Message>{message}</Message></Error>"))
        } else {
            (400, json!({"__type": "AccessDeniedException", "message": message}).to_string())
        };
        let status = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::FORBIDDEN);
        HttpResponse::new(status.into(), body.into())
    }
}

impl Need {
    /// Returns the resource pattern and the partition key pattern that match the call. The key
    /// pattern is `*` if the statement allows any key. Returns `None` if the statement does not
    /// allow the call.
    fn allowed_by<'a>(&self, statement: &'a Statement) -> Option<(&'a str, &'a str)> {
        let resource = statement.resources.iter().find(|resource| is_like(&self.resource, resource))?;
        let key = match (&statement.leading_keys[..], &self.key) {
            ([], _) => "*",
            (patterns, Some(key)) => patterns.iter().find(|pattern| is_like(key, pattern))?,
            (_, None) => return None,
        };
        statement.actions.contains(&self.action).then_some((resource, key))
    }
}

/// Whether the text matches a pattern, in which `*` stands for any text.
fn is_like(text: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(text) = text.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let rest = middle.split('*').try_fold(text, |text, part| text.split_once(part).map(|(_, rest)| rest));
    rest.is_some_and(|rest| rest.ends_with(last))
}

/// Returns all permissions that are required for the call.
fn needs(request: &HttpRequest) -> Vec<Need> {
    let body: Value = request.body().bytes().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
    match request.headers().get("x-amz-target").and_then(|target| target.split_once('.')) {
        Some((service, action)) if service.starts_with("DynamoDB") => of_dynamodb(action, &body),
        Some((service, action)) if service.starts_with("Firehose") => {
            let name = body["DeliveryStreamName"].as_str().unwrap_or_default();
            let resource = format!("arn:aws:firehose:{REGION}:{ACCOUNT}:deliverystream/{name}");
            vec![Need { action: format!("firehose:{action}"), resource, key: None }]
        }
        Some(("AWSEvents", action)) => {
            let buses = body["Entries"].as_array().into_iter().flatten();
            let buses: BTreeSet<_> = buses.map(|entry| entry["EventBusName"].as_str().unwrap_or("default")).collect();
            let need = |bus| format!("arn:aws:events:{REGION}:{ACCOUNT}:event-bus/{bus}");
            let need = |bus| Need { action: format!("events:{action}"), resource: need(bus), key: None };
            buses.into_iter().map(need).collect()
        }
        Some(("secretsmanager", action)) => {
            let resource = body["SecretId"].as_str().unwrap_or_default().to_owned();
            vec![Need { action: format!("secretsmanager:{action}"), resource, key: None }]
        }
        Some((service, action)) => {
            vec![Need { action: format!("{service}:{action}"), resource: String::new(), key: None }]
        }
        None => {
            let uri = request.uri().parse::<http::Uri>().unwrap_or_default();
            vec![of_s3(request.method(), uri.path(), uri.query().unwrap_or_default())]
        }
    }
}

/// A transaction requires permission for each contained action, but none for `TransactWriteItems`.
/// A batch requires permission for the batch action, for each table and key.
fn of_dynamodb(action: &str, body: &Value) -> Vec<Need> {
    let one = |action: &str, table: &str, call: &Value| {
        let index = call["IndexName"].as_str().map(|index| format!("/index/{index}")).unwrap_or_default();
        let resource = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}{index}");
        let key = ["Key", "Item"].iter().find_map(|part| call[part]["PK"]["S"].as_str());
        Need { action: format!("dynamodb:{action}"), resource, key: key.map(str::to_owned) }
    };
    let table = |call: &Value| call["TableName"].as_str().unwrap_or_default().to_owned();
    if let Some(parts) = body["TransactItems"].as_array() {
        let parts = parts.iter().filter_map(Value::as_object).flatten();
        return parts.map(|(kind, call)| one(&format!("{kind}Item"), &table(call), call)).collect();
    }
    if let Some(tables) = body["RequestItems"].as_object() {
        let calls = tables.iter().flat_map(|(table, calls)| parts_of(calls).into_iter().map(move |call| (table, call)));
        return calls.map(|(table, call)| one(action, table, &call)).collect();
    }
    vec![one(action, &table(body), body)]
}

/// Splits the reads or writes of a batch on one table into single requests.
fn parts_of(batch: &Value) -> Vec<Value> {
    match &batch["Keys"] {
        Value::Array(keys) => keys.iter().map(|key| json!({"Key": key})).collect(),
        _ => batch
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .flatten()
            .map(|(_, part)| part.clone())
            .collect(),
    }
}

/// Permission for a path-style request (`/bucket/key`).
fn of_s3(method: &str, path: &str, query: &str) -> Need {
    let path = percent_decode_str(path.trim_start_matches('/')).decode_utf8_lossy();
    let (bucket, key) = path.split_once('/').unwrap_or((&path, ""));
    let has = |name: &str| form_urlencoded::parse(query.as_bytes()).any(|(key, _)| key == name);
    let (action, resource) = match (method, key) {
        ("GET", "") if bucket.is_empty() => ("s3:ListAllMyBuckets", "*"),
        (_, "") => ("s3:ListBucket", bucket),
        // Uploads in parts need no other permission than the put of an object.
        ("PUT" | "POST", _) => ("s3:PutObject", &*path),
        ("DELETE", _) if has("uploadId") => ("s3:AbortMultipartUpload", &*path),
        ("DELETE", _) => ("s3:DeleteObject", &*path),
        _ if has("versionId") => ("s3:GetObjectVersion", &*path),
        _ => ("s3:GetObject", &*path),
    };
    Need { action: action.to_owned(), resource: format!("arn:aws:s3:::{resource}"), key: None }
}

/// HTTP client or HTTP connector that checks each call against a role.
#[derive(Debug)]
struct Assumed<T> {
    inner: T,
    role: Arc<Role>,
}

impl HttpClient for Assumed<SharedHttpClient> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Assumed { inner, role: Arc::clone(&self.role) })
    }
}

impl HttpConnector for Assumed<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        match self.role.refuse(&request) {
            None => console::call(request, |request| self.inner.call(request)),
            Some(refusal) => HttpConnectorFuture::ready(Ok(refusal)),
        }
    }
}

/// Log of used permissions. Each process writes a separate file. Each line contains the function,
/// action, resource and partition key pattern, separated by tabs.
#[derive(Debug)]
pub(crate) struct Notes {
    file: PathBuf,
    known: Mutex<BTreeSet<String>>,
}

/// Environment variable with the folder for the log of used permissions.
pub(crate) const PERMISSIONS_USED: &str = "PERMISSIONS_USED";

impl Notes {
    /// Opens the log in the folder of [`PERMISSIONS_USED`], if it is set.
    pub(crate) fn of_environment() -> io::Result<Option<Arc<Self>>> {
        let folder = std::env::var_os(PERMISSIONS_USED).filter(|folder| !folder.is_empty());
        folder.map(|folder| Self::open(Path::new(&folder)).map(Arc::new)).transpose()
    }

    /// Opens the log in a folder.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self { file: folder.join(std::process::id().to_string()), known: Mutex::default() })
    }

    fn add(&self, parts: &[&str]) {
        let line = parts.join("\t") + "\n";
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(line.clone()) {
            let file = OpenOptions::new().create(true).append(true).open(&self.file);
            if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
                tracing::error!(%error, file = %self.file.display(), "a used permission can't be logged");
            }
        }
    }
}
