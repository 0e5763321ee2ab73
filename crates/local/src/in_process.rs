//! A stack without listeners, threads and pollers, for the simulation (docs/simulation.md) and for
//! tests with a virtual clock.
//!
//! The caller delivers every event, or calls [`InProcess::deliver`]. Clients of AWS services call
//! the engine and the lake in the same task.
pub mod clock;
mod saved;

pub use saved::Saved;

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use aws_config::{BehaviorVersion, Region, SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_sdk_dynamodb::{
    Client,
    config::{
        Credentials, RuntimeComponents, SharedCredentialsProvider, SharedHttpClient,
        http::{HttpRequest, HttpResponse},
    },
};
use aws_smithy_runtime_api::client::{
    http::{HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    result::ConnectorError,
    stalled_stream_protection::StalledStreamProtectionConfig,
};
use axum::body::{Body, Bytes, to_bytes};
use dynoxide::Database;
use function::{Clients, Context, Invocation};
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use jiff::Timestamp;
use keys::Random;
use serde_json::{Value, json};
use table::{Dynamo, Usage};

use crate::{
    StartError,
    follower::verdict,
    gateway::{Arrival, Gateway, Resets, Routes},
    lambda::{self, Handler, Lambda},
    role::{Notes, Role},
    schedule,
    world::{self, Stage, WorldError},
};
use console::{Failure, Outcome};
use engine::{
    server::{Arriving, Endpoint, Received, Refusal},
    store::{Position, Store},
};
use events::{
    Events,
    auth::{Auth, Claims, TokenError, Tokens},
    functions,
};
use hostile::{Hostile, Rates};
use objects::{Lake, Services, pending};
use template::{Authorizer, Mapping, REGION, Template};

const DYNAMODB: &str = "http://dynamodb.local";
const SERVICES: &str = "http://services.local";
const JSON: &str = "application/x-amz-json-1.0";

/// Replaces the HTTP client of the functions, such as by one that injects faults.
pub type Connect = dyn Fn(SharedHttpClient) -> SharedHttpClient;
/// Replaces the future of an invocation.
pub type Wrap = fn(BoxFuture<'static, Invocation>) -> BoxFuture<'static, Invocation>;

/// A stack whose caller delivers all events.
pub struct InProcess {
    template: Template,
    gateway: Gateway,
    lake: Arc<Lake>,
    config: SdkConfig,
    notes: Option<Arc<Notes>>,
    /// Positions of [`InProcess::deliver`] in the streams, by function and mapping.
    delivered: Mutex<BTreeMap<(String, String), i64>>,
}

/// Result of an invocation.
#[derive(Debug)]
pub struct Invoked {
    /// The response of the function, or the type and the message of its error.
    pub answer: Result<Value, (String, String)>,
    /// The usage of its DynamoDB calls.
    pub usage: Usage,
}

/// An HTTP request, with the claims of its caller.
#[derive(Debug)]
pub struct Asked<'a> {
    /// Method in upper case.
    pub method: &'a str,
    /// Path, with the query after `?`.
    pub path: &'a str,
    /// Idempotency key.
    pub key: Option<&'a str>,
    /// Value of the header `Accept`.
    pub accept: Option<&'a str>,
    /// Body.
    pub body: Option<String>,
    /// Claims of the token.
    pub claims: &'a Claims,
    /// Time of the request.
    pub now: Timestamp,
    /// Id of the request.
    pub id: &'a str,
}

/// Object event that no function has handled.
#[derive(Debug)]
pub struct ObjectEvent {
    /// Function to invoke.
    pub function: String,
    /// The event.
    pub event: Value,
    file: std::path::PathBuf,
}

impl InProcess {
    /// Creates the tables and binds all functions of the template.
    ///
    /// # Errors
    /// [`StartError`] as for a stack.
    ///
    /// `hostile` has the seed and the rates of the faults between the functions and the engine.
    pub fn start(
        template: Template,
        random: &Random,
        hostile: (u64, Rates),
        connect: &Connect,
        wrap: Wrap,
    ) -> Result<Self, StartError> {
        let store = Store::open(None, &template.tables)?;
        let lake = Arc::new(Lake::new(None, &template).map_err(StartError::Lake)?);
        lake.set_roles(
            template.lambdas.iter().map(|spec| (spec.name.clone(), Role::new(spec, None).allows_s3())).collect(),
        );
        let direct =
            SharedHttpClient::new(Direct { database: store.database(), services: Services(Arc::clone(&lake)) });
        let (seed, rates) = hostile;
        let hostile = Hostile::new(seed, rates, &template.tables, Some(&store)).map_err(StartError::Hostile)?;
        let http = connect(hostile.around(direct));
        let notes = Notes::of_environment().map_err(StartError::Notes)?;
        let gateway = Gateway {
            routes: Routes::of(&template),
            lambdas: BTreeMap::new(),
            pollers: Vec::new(),
            store,
            tokens: Tokens::new(template.authorizer.clone().unwrap_or_else(Authorizer::local)),
            auth: Auth::Required,
            scopes: template.scopes(),
            pages: None,
            stack: "local".to_owned(),
            clock: None,
            health: OnceLock::new(),
            console: None,
            hostile: None,
            lake: Arc::clone(&lake),
            resets: Resets::default(),
        };
        let (config, delivered) = (config(http), Mutex::default());
        let mut stack = Self { template, gateway, lake, config, notes, delivered };
        let ids = Arc::default();
        for (name, function) in functions() {
            let Some(spec) = stack.template.lambdas.iter().find(|spec| spec.name == name) else { continue };
            let settings = spec.environment.clone().into_iter().collect();
            let bound = lambda::bind(function)(&settings, stack.clients(spec, random.clone()));
            let handler = wrapped(bound.map_err(|error| StartError::Settings(name.to_owned(), error))?, wrap, &ids);
            stack.gateway.lambdas.insert(name.to_owned(), Arc::new(Lambda::new(spec.clone(), handler, None)));
        }
        Ok(stack)
    }

    fn clients(&self, spec: &template::Lambda, random: Random) -> Clients {
        let config = Role::new(spec, self.notes.clone()).assume(&self.config);
        let dynamo = Dynamo::new(&engine::client(&config, DYNAMODB), random);
        let clients = Clients::new(dynamo, config);
        ["events", "firehose", "s3", "secretsmanager"].into_iter().fold(clients, |all, name| all.at(name, SERVICES))
    }

    /// Creates the world of each service: data in which every event of `events` succeeds.
    ///
    /// # Errors
    /// [`WorldError`] if a file cannot be read, or a step fails.
    pub async fn create_world(&self, events: &Events) -> Result<(), WorldError> {
        self.create_part(events, usize::MAX).await
    }

    /// Plays at most this number of steps of each world, as a creation that is interrupted.
    ///
    /// # Errors
    /// [`WorldError`] if a file cannot be read, or a step fails.
    pub async fn create_part(&self, events: &Events, steps: usize) -> Result<(), WorldError> {
        world::create(self, events, steps).await
    }

    /// Signs a token with these claims.
    ///
    /// # Errors
    /// [`TokenError`] if signing fails.
    pub fn token(&self, claims: Claims) -> Result<String, TokenError> {
        self.gateway.tokens.sign(claims, Duration::from_hours(1))
    }

    /// Sends a request to the gateway, as over HTTP: it needs a token.
    pub async fn send(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (parts, body) = request.into_parts();
        let response = if body.len() > Gateway::MAX_BODY {
            Gateway::refuse(Refusal::TooLarge)
        } else {
            self.gateway.answer(Received { peer: (Ipv4Addr::LOCALHOST, 0).into(), parts, body }).await
        };
        let (parts, body) = response.into_parts();
        Response::from_parts(parts, to_bytes(body, usize::MAX).await.unwrap_or_default())
    }

    /// Delivers a batch of each stream, and the events of created objects. Returns whether there
    /// was one. Records that a function reports as failed are delivered again by the next call.
    ///
    /// # Errors
    /// The error of the engine, or of a function that failed.
    pub async fn deliver(&self) -> Result<bool, String> {
        let mut some = false;
        for lambda in &self.template.lambdas {
            for mapping in lambda.mappings.iter().filter(|mapping| mapping.enabled) {
                some |= self.deliver_batch(&lambda.name, mapping).await?;
            }
        }
        for event in self.object_events() {
            some = true;
            let answer = self.invoke(&event.function, event.event.clone()).await.answer;
            answer.map_err(|(kind, message)| format!("{}: {kind}: {message}", event.function))?;
            self.handled(&event);
        }
        Ok(some)
    }

    async fn deliver_batch(&self, function: &str, mapping: &Mapping) -> Result<bool, String> {
        let at = (function.to_owned(), mapping.name.clone());
        let before = self.delivered().get(&at).copied().unwrap_or_default();
        let changes = self.changes(&mapping.table, before, mapping.batch_size)?;
        let Some((last, _)) = changes.last() else { return Ok(false) };
        let mut after = *last;
        let wanted: Vec<_> = changes.iter().filter(|(_, record)| mapping.wants(record)).collect();
        let records: Vec<_> = wanted.iter().map(|(_, record)| record.clone()).collect();
        if !records.is_empty() {
            let answer = self.invoke(function, json!({"Records": records})).await.answer;
            let answer = answer.map_err(|(kind, message)| format!("{function}: {kind}: {message}"))?;
            let failed = verdict::first_failure(&answer, &records).filter(|_| mapping.reports_failures);
            after = failed.map_or(after, |index| wanted[index].0 - 1);
        }
        self.delivered().insert(at, after);
        Ok(true)
    }

    fn delivered(&self) -> MutexGuard<'_, BTreeMap<(String, String), i64>> {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Template of the stack.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Calls the engine directly, without a role and without faults.
    ///
    /// # Errors
    /// The body of the engine's error.
    pub fn dynamodb(&self, action: &str, request: &Value) -> Result<Value, String> {
        let (status, body) = engine::execute(&self.gateway.store.database(), action, request.to_string().as_bytes());
        if status == StatusCode::OK {
            serde_json::from_str(&body).map_err(|error| error.to_string())
        } else {
            Err(body)
        }
    }

    /// All items of a table, sorted by key.
    ///
    /// # Errors
    /// The body of the engine's error.
    pub fn items(&self, table: &str) -> Result<Vec<Value>, String> {
        let (mut items, mut start) = (Vec::new(), Value::Null);
        loop {
            let mut scan = json!({"TableName": table, "ConsistentRead": true});
            if !start.is_null() {
                scan["ExclusiveStartKey"] = start;
            }
            let mut page = self.dynamodb("Scan", &scan)?;
            items.extend(page["Items"].as_array_mut().map(std::mem::take).unwrap_or_default());
            start = page["LastEvaluatedKey"].take();
            if start.is_null() {
                break;
            }
        }
        let key = |item: &Value| ["PK", "SK"].map(|name| item[name]["S"].as_str().unwrap_or_default().to_owned());
        items.sort_by_cached_key(key);
        Ok(items)
    }

    /// Deletes the items that have expired at this time. Returns their number.
    pub fn expire(&self, then: Timestamp) -> Result<usize, String> {
        self.gateway.store.sweep(Some(then))
    }

    /// The function and the event of a request, or the response of the gateway.
    ///
    /// # Errors
    /// The status of a request without a route or without a scope.
    pub fn event(&self, asked: &Asked<'_>) -> Result<(String, Value), u16> {
        let mut request = Request::builder().method(asked.method).uri(asked.path).header("host", "api.local");
        let given = [
            ("content-type", asked.body.as_ref().map(|_| "application/json")),
            ("idempotency-key", asked.key),
            ("accept", asked.accept),
        ];
        for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            request = request.header(name, value);
        }
        let (parts, body) =
            request.body(Bytes::from(asked.body.clone().unwrap_or_default())).map_err(|_| 400_u16)?.into_parts();
        let arrival = Arrival { peer: Ipv4Addr::LOCALHOST.into(), id: asked.id, now: asked.now };
        self.gateway.event(&parts, &body, asked.claims, &arrival).map_err(|response| response.status().as_u16())
    }

    /// The event of a schedule that is due at this time.
    pub fn schedule_event(rule: &str, due: Timestamp) -> Value {
        schedule::event(rule, due)
    }

    /// Invokes a function as Lambda does. The invocation ends if the caller drops the future only
    /// at the timeout of the function.
    pub async fn invoke(&self, function: &str, event: Value) -> Invoked {
        let Some(lambda) = self.gateway.lambdas.get(function) else {
            let missing = ("Missing".to_owned(), format!("no function {function}"));
            return Invoked { answer: Err(missing), usage: Usage::default() };
        };
        let Outcome { answer, usage } = lambda.invoke(event).await;
        Invoked { answer: answer.map_err(|Failure { kind, message }| (kind, message)), usage }
    }

    /// Stream records of a table after a position, with their positions.
    pub fn changes(&self, table: &str, after: i64, limit: usize) -> Result<Vec<(i64, Value)>, String> {
        let records = self.gateway.store.changes(table, Position::from(after), limit)?;
        let number = |record: Value| Position::of(&record).map(|position| (position.into(), record));
        Ok(records.into_iter().filter_map(number).collect())
    }

    /// The events on the bus, in the order of their arrival.
    pub fn published(&self) -> Vec<Value> {
        self.lake.bus.after(0, usize::MAX)
    }

    /// Whether the filters of the mapping pass the record.
    pub fn wants(mapping: &Mapping, record: &Value) -> bool {
        mapping.wants(record)
    }

    /// Index of the first record that failed, by the response of the function. `None` if all
    /// succeeded.
    pub fn failed_from(answer: &Value, records: &[Value]) -> Option<usize> {
        verdict::first_failure(answer, records)
    }

    /// Object events that no function has handled.
    pub fn object_events(&self) -> Vec<ObjectEvent> {
        let events = pending(self.lake.folder()).into_iter();
        events.map(|one| ObjectEvent { function: one.function, event: one.event, file: one.file }).collect()
    }

    /// Removes an object event, after its function has handled it.
    pub fn handled(&self, event: &ObjectEvent) {
        let _ = std::fs::remove_file(&event.file);
    }

    /// Puts an object into a bucket.
    ///
    /// # Errors
    /// A message if the object can't be stored.
    pub fn put_object(&self, bucket: &str, key: &str, data: &[u8]) -> Result<(), String> {
        self.lake.put(bucket, key, data).map_err(|error| format!("{error:?}"))
    }

    /// The objects of a bucket whose keys start with the prefix, by key.
    ///
    /// # Errors
    /// A message if an object can't be read.
    pub fn objects(&self, bucket: &str, prefix: &str) -> Result<BTreeMap<String, Vec<u8>>, String> {
        self.lake.contents(bucket, prefix).map_err(|error| format!("{error:?}"))
    }
}

impl Stage for InProcess {
    fn template(&self) -> &Template {
        &self.template
    }

    fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    fn dynamodb(&self) -> Result<Client, String> {
        Ok(engine::client(&self.config, DYNAMODB))
    }

    fn seeded(&self, lambda: &Lambda, random: Random) -> Result<Lambda, String> {
        lambda.bound(self.clients(&lambda.spec, random))
    }

    fn import(&self, key: &str, data: &[u8]) -> Result<bool, String> {
        let Some(inbox) = self.template.inbox() else { return Ok(false) };
        self.put_object(inbox, key, data).map(|()| true)
    }

    async fn pass(&self) -> Result<(), String> {
        self.deliver().await.map(drop)
    }
}

fn wrapped(handler: Handler, wrap: Wrap, ids: &Arc<AtomicU64>) -> Handler {
    let ids = Arc::clone(ids);
    Arc::new(move |event: Value, mut context: Context| {
        context.request_id = format!("00000000-0000-4000-8000-{:012}", ids.fetch_add(1, Ordering::Relaxed));
        wrap(handler(event, context))
    })
}

/// Client configuration with the retries and timeouts of a deployed function.
fn config(http: SharedHttpClient) -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(2))
        .build();
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static(REGION))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("local", "local", None, None, "local")))
        .retry_config(RetryConfig::standard().with_max_attempts(5).with_max_backoff(Duration::from_secs(1)))
        // It measures the throughput by the system's clock, and the caller may have paused the
        // time.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .timeout_config(timeouts)
        .http_client(http)
        .build()
}

/// HTTP client that calls the engine and the lake in the same task.
#[derive(Clone)]
struct Direct {
    database: Database,
    services: Services,
}

impl std::fmt::Debug for Direct {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Direct")
    }
}

impl HttpClient for Direct {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Direct {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let own = self.clone();
        HttpConnectorFuture::new(async move {
            let action =
                request.headers().get("x-amz-target").and_then(|target| target.strip_prefix("DynamoDB_20120810."));
            match action.map(str::to_owned) {
                Some(action) => Ok(own.dynamodb(&action, request.body().bytes().unwrap_or_default())),
                None => own.service(request).await,
            }
        })
    }
}

impl Direct {
    fn dynamodb(&self, action: &str, body: &[u8]) -> HttpResponse {
        let (status, body) = engine::execute(&self.database, action, body);
        let mut response = HttpResponse::new(status.into(), body.into());
        response.headers_mut().insert("content-type", JSON);
        response
    }

    async fn service(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let fail = |error: String| ConnectorError::other(error.into(), None);
        let request = request.try_into_http1x().map_err(|error| fail(error.to_string()))?;
        let (parts, body) = request.into_parts();
        let body = Body::new(body);
        let response = if Services::streams(&parts) {
            self.services.receive(parts, Arriving::of(body)).await
        } else {
            let body = to_bytes(body, usize::MAX).await.map_err(|error| fail(error.to_string()))?;
            let peer = (Ipv4Addr::LOCALHOST, 0).into();
            self.services.answer(Received { peer, parts, body }).await
        };
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.map_err(|error| fail(error.to_string()))?;
        let response = http::Response::from_parts(parts, body.into());
        HttpResponse::try_from(response).map_err(|error| fail(error.to_string()))
    }
}
