//! The console of the local stack: a page at `/_local/` that shows requests, tables and jobs
//! (docs/decisions/console.md).
mod assets;
pub mod calls;
mod docs;
mod forms;
mod heat;
mod recorder;
mod tables;
mod trace;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{body::Body, response::Response};
use function::Trigger;
use futures::stream;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tokio::{task::spawn_blocking, time::sleep};

pub use self::recorder::{Failure, Outcome, Recorder, Running, call, length, recorded};
use self::{
    recorder::Lost,
    tables::{Range, Tables},
    trace::{Filter, Trace, Write},
};
use engine::{server::json_response, store::Store};
use events::{
    auth::{self, Claims, Tokens},
    described,
};
use template::Template;

/// Maximum number of traces in a response.
const MAX_LISTED: usize = 200;
/// Maximum number of traces in a message of the live list. Nobody can read more of them, and the
/// browser would take the time that the stack needs.
const MAX_LIVE: usize = 50;
/// Time between two messages of the live list.
const REFRESH: Duration = Duration::from_millis(500);
/// Lifetime of a token for the form.
const TOKEN_LIFE: Duration = Duration::from_hours(8);
/// Number of item collections, and of items, in a page.
const PAGE: usize = 50;

/// The console of one stack.
pub struct Console {
    /// The recorded invocations.
    pub recorder: Arc<Recorder>,
    store: Store,
    template: Template,
    tokens: Tokens,
    /// Folder with `docs` and `events`.
    root: PathBuf,
    lake: PathBuf,
}

/// Response to a request of the page, or a problem.
type Answer = Result<Value, (StatusCode, String)>;

impl Console {
    fn tables(&self) -> Tables<'_> {
        Tables(&self.store)
    }

    /// Creates the console, and starts its recorder.
    pub fn new(store: Store, template: &Template, tokens: Tokens, root: PathBuf, lake: PathBuf) -> Self {
        let recorder = Recorder::start(store.clone());
        Self { recorder, store, template: template.clone(), tokens, root, lake }
    }

    /// Returns a file of the page.
    pub fn asset(name: &str) -> Option<Response> {
        assets::asset(name)
    }

    /// Responds to a request below `/_local/api/`.
    pub async fn answer(self: &Arc<Self>, path: &[&str], query: &str) -> Response {
        if let ["live"] = path {
            return self.live(Query::of(query).number("from"));
        }
        let (console, path, query) = (Arc::clone(self), path.join("/"), Query::of(query));
        // Database work must not delay other requests.
        let answered = spawn_blocking(move || console.respond(&path, &query)).await;
        match answered.unwrap_or_else(|error| Err((StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))) {
            Ok(body) => json_response(StatusCode::OK, &body),
            Err((status, detail)) => json_response(status, &json!({"title": detail})),
        }
    }

    fn respond(&self, path: &str, query: &Query) -> Answer {
        let failed = |error: String| (StatusCode::INTERNAL_SERVER_ERROR, error);
        match path.split('/').collect::<Vec<_>>().as_slice() {
            ["home"] => self.home().map_err(failed),
            ["traces"] => Ok(self.traces(query)),
            ["traces", number] => self.trace(number),
            ["collections"] => self.collections(query),
            ["entities"] => self.entities(query),
            ["items"] => self.items(query),
            ["heat"] => Ok(self.recorder.heat()),
            ["jobs"] => self.tables().jobs().map(Value::from).map_err(failed),
            ["lake"] => Ok(self.lake()),
            ["forms"] => Ok(forms::list()),
            ["forms", name] => Ok(forms::form(&self.root, self.id(name), name, &query.text("path"))),
            ["docs", page @ ..] => docs::page(&self.root, page)
                .ok_or_else(|| (StatusCode::NOT_FOUND, format!("There is no page docs/{}.", page.join("/")))),
            ["token", person] => self.token(person),
            _ => Err((StatusCode::NOT_FOUND, format!("There is no path /_local/api/{path}."))),
        }
    }

    /// The name of a function for SAM, such as `Bank/GetPayment`.
    fn id(&self, name: &str) -> &str {
        let lambda = self.template.lambdas.iter().find(|lambda| lambda.name == name);
        lambda.map(|lambda| lambda.id.as_str()).unwrap_or_default()
    }

    fn home(&self) -> Result<Value, String> {
        let schedules: Vec<Value> = self
            .template
            .lambdas
            .iter()
            .flat_map(|lambda| lambda.schedules.iter().map(move |schedule| (lambda, schedule)))
            .map(|(lambda, schedule)| json!({"function": lambda.name, "name": schedule.name, "schedule": schedule.expression}))
            .collect();
        let known = |name: &str| self.template.lambdas.iter().any(|lambda| lambda.name == name);
        let units = docs::units(&self.root);
        let services: Vec<Value> = described()
            .into_iter()
            .map(|(service, patterns)| {
                let patterns = patterns.into_iter().filter(|pattern| known(pattern.declared.name));
                json!({"name": service, "patterns": patterns.map(|pattern| shown(&pattern, &units)).collect::<Vec<_>>()})
            })
            .collect();
        let (next, lost) = self.recorder.counts();
        Ok(json!({
            "services": services, "tables": self.tables().overview()?, "schedules": schedules,
            "lessons": docs::lessons(&self.root),
            "traces": next, "lost": lost.total(), "losses": lost,
        }))
    }

    /// The newest traces, or those that a filter selects.
    fn traces(&self, query: &Query) -> Value {
        let before = query.text("before").parse().unwrap_or(u64::MAX);
        let filter = Filter::of(query);
        let found = self.recorder.last(before, MAX_LISTED, |trace| filter.has(trace));
        json!(found.iter().map(|trace| trace.summary()).collect::<Vec<_>>())
    }

    fn trace(&self, number: &str) -> Answer {
        let found = number.parse().ok().and_then(|number| self.recorder.get(number));
        let trace = found.ok_or_else(|| (StatusCode::NOT_FOUND, "This request is no longer kept.".to_owned()))?;
        let mut detail = trace.detail(|write| self.change(&trace, write));
        // The recorder is locked while it searches, so the exact check comes after the search.
        let mut causes = self.recorder.last(u64::MAX, MAX_LISTED, |other| trace.follows(other));
        causes.retain(|other| self.causes(other, &trace));
        let mut effects = self.recorder.last(u64::MAX, MAX_LISTED, |other| other.follows(&trace));
        effects.retain(|other| self.causes(&trace, other));
        detail["causes"] = causes.iter().map(|cause| json!(cause.summary())).collect();
        detail["effects"] = effects.iter().rev().map(|effect| json!(effect.summary())).collect();
        Ok(detail)
    }

    /// The change that a write of a trace made.
    fn change(&self, trace: &Trace, write: &Write) -> Option<Value> {
        let others = self.recorder.last(trace.number, MAX_LISTED, |other| other.count(write) > 0);
        let earlier: usize = others.iter().map(|other| other.count(write)).sum();
        self.tables().change(write, write.earlier + earlier)
    }

    /// Whether a stream has passed on a change of one trace to another one. Several traces can
    /// write an item in the same second. The sequence numbers of their changes then tell which one
    /// it was.
    fn causes(&self, cause: &Trace, effect: &Trace) -> bool {
        cause.writes().iter().any(|write| {
            let numbers = effect.numbers(&write.item);
            let is_received = |change: Value| change["sequence"].as_i64().is_some_and(|one| numbers.contains(&one));
            !numbers.is_empty() && self.change(cause, write).is_some_and(is_received)
        })
    }

    fn known(&self, query: &Query) -> Result<(String, Option<String>), (StatusCode, String)> {
        let (table, index) = (query.text("table"), Some(query.text("index")).filter(|index| !index.is_empty()));
        if self.tables().knows(&table, index.as_deref()) {
            return Ok((table, index));
        }
        Err((StatusCode::NOT_FOUND, format!("There is no table {table} {}.", index.unwrap_or_default())))
    }

    fn collections(&self, query: &Query) -> Answer {
        let (table, index) = self.known(query)?;
        let start = query.text("start");
        let found = self.tables().collections(&table, index.as_deref(), &start, &query.text("after"), PAGE);
        found.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error))
    }

    fn entities(&self, query: &Query) -> Answer {
        let (table, _) = self.known(query)?;
        self.tables().entities(&table).map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error))
    }

    fn items(&self, query: &Query) -> Answer {
        let (table, index) = self.known(query)?;
        let after = serde_json::from_str(&query.text("after")).ok();
        let (partition, from, to) = (query.text("pk"), query.text("from"), query.text("to"));
        let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
        let range = Range { table, index, partition, from, to, after, limit };
        self.tables().page(&range).map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error))
    }

    /// The names of the report pages that `make report` has written.
    fn reports(&self) -> Vec<String> {
        let root = if self.root.as_os_str().is_empty() { Path::new(".") } else { &self.root };
        let files = fs::read_dir(root).into_iter().flatten().filter_map(Result::ok);
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let mut names: Vec<_> =
            names.filter(|name| name.starts_with("report") && name.strip_suffix(".html").is_some()).collect();
        names.sort();
        names
    }

    /// Returns a report page.
    pub fn report(&self, name: &str) -> Option<Response> {
        let known = self.reports().into_iter().find(|known| known == name)?;
        fs::read(self.root.join(known)).ok().map(assets::report)
    }

    /// The buckets of the lake with their number of files and bytes, and the report pages.
    fn lake(&self) -> Value {
        let entries =
            |folder: &Path| fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).collect::<Vec<_>>();
        let buckets: Vec<Value> = entries(&self.lake)
            .into_iter()
            .filter(|entry| entry.path().is_dir())
            .map(|entry| {
                let (files, bytes) = contents(&entry.path(), 6);
                json!({"name": entry.file_name().to_string_lossy(), "files": files, "bytes": bytes})
            })
            .collect();
        json!({"folder": self.lake, "buckets": buckets, "reports": self.reports()})
    }

    /// Signs a token for one of the people of the form.
    fn token(&self, person: &str) -> Answer {
        let scopes = self.template.scopes();
        let claims = person_claims(person, &scopes);
        let claims = claims.ok_or_else(|| (StatusCode::NOT_FOUND, format!("There is no person {person}.")))?;
        let token = self.tokens.sign(claims, TOKEN_LIFE);
        token
            .map(|token| json!({"token": token}))
            .map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
    }

    /// Sends the summaries of new traces as server-sent events, at most a number of them at a time.
    fn live(&self, from: u64) -> Response {
        let recorder = Arc::clone(&self.recorder);
        let messages = stream::unfold((recorder, from, Lost::default()), |(recorder, from, told)| async move {
            sleep(REFRESH).await;
            let (next, lost) = recorder.counts();
            let traces = if next > from { recorder.summaries(from, MAX_LIVE) } else { Vec::new() };
            let message = json!({"next": next, "traces": traces, "losses": lost});
            let is_news = next > from || lost != told;
            let text = if is_news { format!("data: {message}\n\n") } else { ": \n\n".to_owned() };
            Some((Ok::<_, std::convert::Infallible>(text), (recorder, next, lost)))
        });
        let mut response = Response::new(Body::from_stream(messages));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// The number of files in a folder and their bytes.
fn contents(folder: &Path, depth: usize) -> (u64, u64) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.fold((0, 0), |(files, bytes), entry| match entry.metadata() {
        Ok(kind) if kind.is_dir() && depth > 0 => {
            let (more, size) = contents(&entry.path(), depth - 1);
            (files + more, bytes + size)
        }
        Ok(kind) if kind.is_file() => (files + 1, bytes + kind.len()),
        _ => (files, bytes),
    })
}

/// The claims of a person. The accounts and ids are those of the sample data and of the README.
fn person_claims(person: &str, scopes: &[String]) -> Option<Claims> {
    let claims = match person {
        "operator" => return Some(auth::operator(scopes)),
        "customer" => json!({
            "sub": "ann", "account_ids": ["Account1", "Ann", "Sue", "e4ceeb59-552e-8690-9301-f64e44907c84"],
            "scope": "bank:read bank:write cart:read cart:write ledger:read ledger:write",
        }),
        "employee" => json!({"sub": "123", "company_id": "123", "scope": "wellness:read wellness:write"}),
        "administrator" => json!({"sub": "789", "company_id": "123", "scope": "wellness:admin"}),
        "nobody" => json!({"sub": "nobody", "scope": ""}),
        _ => return None,
    };
    claims.as_object().cloned()
}

/// An access pattern as the page shows it.
fn shown(pattern: &events::Described, units: &HashMap<String, (f64, f64)>) -> Value {
    let declared = &pattern.declared;
    let trigger = match declared.trigger {
        Trigger::Http(_) => "HTTP".to_owned(),
        Trigger::Schedule(expression) => format!("schedule, {expression}"),
        Trigger::Stream(table) => format!("stream of {table}"),
        Trigger::Streams(tables) => format!("streams of {}", tables.join(", ")),
        Trigger::Workflow(name) => format!("state machine {name}"),
        Trigger::Objects(bucket, prefix) => format!("objects in {bucket}, {prefix}"),
    };
    let routes: Vec<String> =
        declared.routes().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    let calls: Vec<Value> =
        pattern.calls.iter().map(|(variant, formula)| json!({"variant": variant, "formula": formula})).collect();
    let sample = units.get(declared.name).map(|(read, write)| json!({"read": read, "write": write}));
    json!({
        "id": declared.id, "name": declared.name, "trigger": trigger, "routes": routes, "calls": calls,
        "sample": sample,
    })
}

/// The query string of a request.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    fn of(query: &str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    fn text(&self, name: &str) -> String {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()).unwrap_or_default()
    }

    fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or_default()
    }
}
