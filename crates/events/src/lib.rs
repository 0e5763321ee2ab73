//! Sample events and their variants, in a folder such as `events/` (events/README.md).
//!
//! - `<service>/<function>.json` is an event that the function accepts.
//! - `<service>/variants.json` has variants of these events under the names `<function>.<case>`. A
//!   variant is a list of changes.
//! - `<service>/<function>.<case>.json` is a whole event, for a case that shares little with
//!   `<function>.json`.
//! - `<service>/world.json` has the steps that create the data of the events.
pub mod auth;
mod domains;

pub use auth::{Auth, Claims, TokenError, Tokens};
pub use domains::{Described, Domain, described, domains, functions, published};

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value, json};

const VARIANTS: &str = "variants.json";
const WORLD: &str = "world.json";
/// Names of the files above.
const NO_EVENTS: [&str; 2] = ["variants", "world"];

/// A folder with one folder of events per service.
#[derive(Debug, Clone)]
pub struct Events(PathBuf);

/// The error of an event that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// A file or a folder cannot be read.
    #[error("{path}: {1}", path = .0.display())]
    Read(PathBuf, io::Error),
    /// A file is not JSON of the expected form.
    #[error("{path}: {1}", path = .0.display())]
    Json(PathBuf, serde_json::Error),
    /// No service has the function of the event.
    #[error("no folder of {path} has {1}.json; `local event` lists all events", path = .0.display())]
    NoBase(PathBuf, String),
    /// The function has no such variant.
    #[error("{path} has no variant {1}; `local event` lists all events", path = .0.display())]
    NoVariant(PathBuf, String),
    /// A variant is invalid.
    #[error("{path}: {1}: {2}", path = .0.display())]
    Variant(PathBuf, String, Fault),
}

/// The reason why a variant cannot be applied to its base.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// An unknown or mistyped member.
    #[error(transparent)]
    Members(#[from] serde_json::Error),
    /// Only an HTTP request has a route, a path, a query, headers, claims and a body.
    #[error("the base is no HTTP request")]
    NoRequest,
    /// The route has other path parameters.
    #[error("the path parameters are not those of {0}")]
    Parameters(String),
}

/// The changes of a base event. Each object is a merge patch (RFC 7386): null removes a member.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Variant {
    /// Another route: its method and path.
    route: Option<String>,
    /// Path parameters.
    path: Map<String, Value>,
    query: Map<String, Value>,
    headers: Map<String, Value>,
    claims: Map<String, Value>,
    /// Patch of the JSON body. A text replaces the body, and null removes it.
    #[serde(deserialize_with = "present")]
    body: Option<Value>,
    /// Patch of the whole event.
    event: Map<String, Value>,
    /// Patches of the records of a batch. Each further patch applies to the base's last record.
    records: Option<Vec<Value>>,
    /// Event that replaces the base.
    whole: Option<Value>,
    /// The expected outcome, which does not change the event.
    #[serde(rename = "status")]
    _status: Option<Expected>,
}

/// The expected outcome of an event in its world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Expected {
    /// The response has this status.
    Status(u16),
    /// The function fails, if false.
    Succeeds(bool),
}

/// The HTTP request of an event.
#[derive(Debug, Clone)]
pub struct EventRequest {
    /// Method in upper case.
    pub method: String,
    /// Path, with the query after `?`.
    pub path: String,
    /// Headers that the caller sets: `accept`, `content-type` and `idempotency-key`.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: Option<String>,
    /// Claims of the caller, without those that a signature adds.
    pub claims: Claims,
}

impl EventRequest {
    /// The request of an event. `None` if API Gateway did not send the event.
    pub fn of(event: &Value) -> Option<Self> {
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
        text("/routeKey")?;
        let path = utf8_percent_encode(text("/rawPath")?, PATH).to_string();
        let query = text("/rawQueryString").filter(|query| !query.is_empty());
        let claims = event.pointer("/requestContext/authorizer/jwt/claims").and_then(Value::as_object);
        let is_added = |name: &str| ["iss", "aud", "iat", "exp"].contains(&name);
        let claims = claims.into_iter().flatten().filter(|(name, _)| !is_added(name));
        let headers = ["accept", "content-type", "idempotency-key"];
        Some(Self {
            method: text("/requestContext/http/method")?.to_owned(),
            path: query.map_or_else(|| path.clone(), |query| format!("{path}?{query}")),
            headers: headers
                .into_iter()
                .filter_map(|name| Some((name, event["headers"][name].as_str()?.to_owned())))
                .collect(),
            body: text("/body").map(str::to_owned),
            claims: claims.map(|(name, value)| (name.clone(), value.clone())).collect(),
        })
    }

    /// The company that the operator must name to send this request. The operator belongs to no
    /// company, and the path of a user does not contain the company.
    pub fn company(&self) -> Option<&str> {
        self.claims.get("company_id").and_then(Value::as_str).filter(|_| self.path.contains("/users/"))
    }
}

/// Characters that a path contains as they are.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Whether a function has accepted an event: the status of a request is below 300, and no record of
/// a batch failed.
pub fn is_accepted(answer: &Value) -> bool {
    let failures = answer["batchItemFailures"].as_array().is_some_and(|failures| !failures.is_empty());
    answer["statusCode"].as_u64().is_none_or(|status| status < 300) && !failures
}

/// Distinguishes null from a missing member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Events {
    /// The events in this folder.
    pub fn of(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The names of all events: `<function>` and `<function>.<case>`.
    ///
    /// # Errors
    ///
    /// Fails if a folder or a `variants.json` cannot be read.
    pub fn names(&self) -> Result<BTreeSet<String>, EventError> {
        let mut names = BTreeSet::new();
        for service in self.services()? {
            let files = entries(&service)?;
            let stems = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"));
            let stems = stems.filter_map(|path| path.file_stem()?.to_str()).filter(|stem| !NO_EVENTS.contains(stem));
            names.extend(stems.map(str::to_owned));
            names.extend(read::<Map<String, Value>>(&service.join(VARIANTS))?.into_iter().map(|(name, _)| name));
        }
        Ok(names)
    }

    /// The event with this name. Functions of different services have different names.
    ///
    /// # Errors
    ///
    /// Fails if no event has this name, a file cannot be read, or the variant is invalid.
    pub fn event(&self, name: &str) -> Result<Value, EventError> {
        let function = name.split('.').next().filter(|stem| !NO_EVENTS.contains(stem)).unwrap_or_default();
        let mut services = self.services()?.into_iter();
        let service = services.find(|service| service.join(format!("{function}.json")).is_file());
        let service = service.ok_or_else(|| EventError::NoBase(self.0.clone(), function.to_owned()))?;
        let file = service.join(format!("{name}.json"));
        if file.is_file() {
            return read(&file);
        }
        let (base, file) = (read(&service.join(format!("{function}.json")))?, service.join(VARIANTS));
        match read::<Map<String, Value>>(&file)?.remove(name) {
            Some(variant) => expand(base, variant).map_err(|fault| EventError::Variant(file, name.to_owned(), fault)),
            None => Err(EventError::NoVariant(file, name.to_owned())),
        }
    }

    /// The expected outcome of the event with this name. Without a `status` in the variant, the
    /// event succeeds.
    ///
    /// # Errors
    ///
    /// Fails if a folder or a `variants.json` cannot be read.
    pub fn expected(&self, name: &str) -> Result<Expected, EventError> {
        for service in self.services()? {
            let file = service.join(VARIANTS);
            if let Some(variant) = read::<Map<String, Value>>(&file)?.get(name) {
                let status = &variant["status"];
                let expected =
                    if status.is_null() { Ok(Expected::Succeeds(true)) } else { Expected::deserialize(status) };
                return expected.map_err(|error| EventError::Json(file, error));
            }
        }
        Ok(Expected::Succeeds(true))
    }

    /// The steps of the world of a service.
    pub fn world(&self, service: &str) -> Result<Vec<Value>, EventError> {
        read(&self.0.join(service).join(WORLD))
    }

    fn services(&self) -> Result<Vec<PathBuf>, EventError> {
        Ok(entries(&self.0)?.into_iter().filter(|path| path.is_dir()).collect())
    }
}

/// Applies the changes of a variant to its base. Derives the path, the query string, the scopes and
/// `content-length`, if what they follow from changes.
///
/// # Errors
///
/// Fails if the variant has an unknown member, or the base lacks what the variant changes.
pub fn expand(mut event: Value, variant: Value) -> Result<Value, Fault> {
    let Variant { route, path, query, headers, claims, body, event: patch, records, whole, .. } =
        serde_json::from_value(variant)?;
    if let Some(whole) = whole {
        return Ok(whole);
    }
    merge(&mut event, patch.into());
    if let Some(patches) = records {
        let base = event["Records"].as_array().cloned().unwrap_or_default();
        let records = patches.into_iter().enumerate().map(|(number, patch)| {
            let mut record = base.get(number).or(base.last()).cloned().unwrap_or_default();
            merge(&mut record, patch);
            record
        });
        let records: Vec<Value> = records.collect();
        merge(&mut event, json!({"Records": records}));
    }
    let Some(own) = event["routeKey"].as_str() else {
        let is_empty = [path, query, headers, claims].iter().all(Map::is_empty) && route.is_none() && body.is_none();
        return if is_empty { Ok(event) } else { Err(Fault::NoRequest) };
    };
    let route = route.unwrap_or_else(|| own.to_owned());
    merge(&mut event, json!({"headers": headers, "pathParameters": path}));
    set_route(&mut event, &route)?;
    if !query.is_empty() {
        merge(&mut event, json!({"queryStringParameters": query}));
        let pairs = event["queryStringParameters"].as_object().into_iter().flatten();
        let pairs = pairs.filter_map(|(name, value)| Some((name, value.as_str()?)));
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        merge(&mut event, json!({"rawQueryString": text}));
    }
    if !claims.is_empty() {
        let jwt = |member: &str, value: Value| json!({"requestContext": {"authorizer": {"jwt": {member: value}}}});
        merge(&mut event, jwt("claims", claims.into()));
        let claims = event["requestContext"]["authorizer"]["jwt"]["claims"].as_object();
        let scopes = json!(claims.map(auth::scopes).unwrap_or_default());
        merge(&mut event, jwt("scopes", scopes));
    }
    if let Some(patch) = body {
        let mut body = event["body"].as_str().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
        merge(&mut body, patch);
        let text = match body {
            Value::Null => None,
            Value::String(text) => Some(text),
            json => Some(json.to_string()),
        };
        let length = text.as_ref().map(|text| text.len().to_string());
        merge(&mut event, json!({"body": text, "headers": {"content-length": length}}));
    }
    // API Gateway omits them if they are empty.
    for name in ["pathParameters", "queryStringParameters"] {
        if event[name].as_object().is_some_and(Map::is_empty) {
            merge(&mut event, json!({name: null}));
        }
    }
    Ok(event)
}

/// Sets the route, and the path with the values of its parameters. HTTP APIs decode the path.
fn set_route(event: &mut Value, route: &str) -> Result<(), Fault> {
    let fail = || Fault::Parameters(route.to_owned());
    let (method, path) = route.split_once(' ').ok_or_else(fail)?;
    let parameters = event["pathParameters"].as_object().cloned().unwrap_or_default();
    let value = |segment: &str| match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(name) => parameters.get(name).and_then(Value::as_str).map(str::to_owned),
        None => Some(segment.to_owned()),
    };
    if path.matches('{').count() != parameters.len() {
        return Err(fail());
    }
    let path = path.split('/').map(value).collect::<Option<Vec<_>>>().ok_or_else(fail)?.join("/");
    let context = json!({"routeKey": route, "http": {"method": method, "path": path}});
    merge(event, json!({"routeKey": route, "rawPath": path, "requestContext": context}));
    Ok(())
}

/// Applies a merge patch (RFC 7386).
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    let mut members = match target.take() {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    for (name, patch) in patch {
        if patch.is_null() {
            members.remove(&name);
        } else {
            merge(members.entry(name).or_insert(Value::Null), patch);
        }
    }
    *target = Value::Object(members);
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, EventError> {
    let paths = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    paths.map_err(|error| EventError::Read(folder.to_owned(), error))
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, EventError> {
    let text = fs::read_to_string(path).map_err(|error| EventError::Read(path.to_owned(), error))?;
    serde_json::from_str(&text).map_err(|error| EventError::Json(path.to_owned(), error))
}

#[cfg(test)]
mod tests;
