//! Lambda functions: settings, requests, callers, responses, errors, logs and metrics.
//!
//! Each access pattern has a handler, which is an async function. [`http`] creates a [`Function`]
//! from the handler of a route. [`stream`], [`scheduled`] and [`objects`] do the same for DynamoDB
//! streams, for schedules and for objects in S3. The `main` of a Lambda calls [`run`] with this
//! function. The service crates depend neither on HTTP nor on the Lambda runtime.
//!
//! Handlers receive the time and a random source as arguments. Only the module `system` reads the
//! clock and the random source of the operating system (docs/decisions/randomness.md).
//!
//! # Example
//!
//! A function that doubles the number in its path:
//!
//! ```
//! use function::{App, Clients, Error, Function, Input, Json, Request};
//! use function::{Settings, SettingsReader};
//!
//! #[derive(Clone)]
//! struct Doubler {
//!     max: u32,
//! }
//!
//! impl App for Doubler {
//!     fn start(settings: &mut SettingsReader<'_>, _: &Clients) -> Option<Self> {
//!         Some(Self { max: settings.get("MAX")? })
//!     }
//! }
//!
//! #[derive(Input)]
//! struct Number(#[input(path = "number")] u32);
//!
//! async fn double(app: Doubler, request: Request<Number>) -> Result<Json<u32>, Error> {
//!     let Number(number) = request.input;
//!     if number > app.max {
//!         return Err(Error::invalid("/path/number", format!("must be at most {}", app.max)));
//!     }
//!     Ok(Json(number * 2))
//! }
//!
//! // `double` makes no DynamoDB calls, so there is no connection to open.
//! async fn warm_up(_: Doubler) {}
//!
//! let _function: Function = function::http(double, warm_up);
//!
//! let settings: Settings = [("MAX".to_owned(), "many".to_owned())].into_iter().collect();
//! let error = settings.read(|reader| reader.get::<u32>("MAX")).unwrap_err();
//! assert_eq!(error.to_string(), "MAX: invalid digit found in string");
//! ```
#![deny(clippy::disallowed_methods)]

mod answer;
mod caller;
mod client;
mod contract;
mod csv;
mod deadline;
mod environment;
mod error;
mod event;
mod fingerprint;
mod http;
mod idempotency;
mod input;
mod json;
mod objects;
mod observe;
mod outbound;
mod pattern;
mod problem;
mod scheduled;
mod settings;
mod stream;
mod strict;
mod system;
mod text;
mod whole;

pub use answer::{
    Accepted, Created, Json, List, Listing, Located, NoContent, Put, Reply, Upserted, is_zero, path, percent_encoded,
};
pub use aws_lambda_events::dynamodb::EventRecord;
pub use caller::{Caller, ChangedBy};
pub use client::Clients;
pub use contract::{Contract, Skipped, requires};
pub use csv::{Cell, Csv, CsvRow, JsonOrCsv, MediaType, unguarded};
pub use deadline::Deadline;
pub use derives::Input;
pub use environment::{retries, timeouts};
pub use error::{Error, Fault, optimistically};
pub use fingerprint::Fingerprint;
pub use http::{Request, contract, http};
pub use idempotency::IdempotentRequest;
pub use input::{Fields, Input, read_record};
pub use lambda_runtime::{Context, Diagnostic};
pub use objects::{ObjectCreated, Objects, objects};
pub use observe::count;
pub use outbound::{CallError, HttpClient, HttpReply};
pub use pattern::{Calls, Declared, Pattern, Route, Trigger, by_number};
pub use problem::Problem;
pub use scheduled::{Scheduled, scheduled};
pub use settings::{Settings, SettingsError, SettingsReader};
pub use stream::{Batch, Clock, Record, stream};
pub use system::system_random;
#[doc(hidden)]
pub use system::{now, set_clock};
pub use text::{BoundedText, InvalidText};
pub use whole::{InvalidNumber, Version, Whole};

use futures::future::BoxFuture;
use keys::Random;
use lambda_http::{Body, Response};
use serde::Serialize;
use serde_json::Value;
use std::{process::ExitCode, sync::Arc, time::Duration};
use table::Usage;
use tokio::runtime::Builder;

/// The state of a service: its tables and settings. Each process creates one, and all handlers
/// share it.
pub trait App: Clone + Send + Sync + 'static {
    /// Reads the settings and creates the state.
    ///
    /// Returns `None` if a setting is missing or invalid. `settings` records the fault.
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self>;
}

/// A Lambda function that has not been started.
pub struct Function {
    start: Start,
}

type Start = Box<dyn Fn(&Settings, Clients) -> Result<Started, SettingsError> + Send + Sync>;

struct Started {
    service: Service,
    /// The DynamoDB call that opens the connection before the first event.
    warm_up: BoxFuture<'static, ()>,
}

type HttpHandler = Arc<dyn Fn(lambda_http::Request) -> BoxFuture<'static, (Response<Body>, Usage)> + Send + Sync>;
type EventHandler = Arc<dyn Fn(Value, Context) -> BoxFuture<'static, (Result<Value, Error>, Usage)> + Send + Sync>;

/// A started function, with its settings and clients.
///
/// The Lambda runtime and the local stack invoke it.
#[derive(Clone)]
pub struct Service(Handler);

#[derive(Clone)]
enum Handler {
    Http(HttpHandler),
    Event(EventHandler),
}

/// The arguments of an invocation, except the event.
struct Surroundings {
    deadline: Deadline,
    random: Random,
}

/// The result of an invocation.
#[derive(Debug)]
pub struct Invocation {
    /// The response, or the error that Lambda reports.
    pub answer: Result<Value, Diagnostic>,
    /// The consumed units and other usage of the invocation's DynamoDB calls.
    pub usage: Usage,
}

impl Function {
    fn new<A, W>(
        warm_up: impl Fn(A) -> W + Send + Sync + 'static,
        handler: impl Fn(A, Random, &Settings) -> Handler + Send + Sync + 'static,
    ) -> Self
    where
        A: App,
        W: Future<Output = ()> + Send + 'static,
    {
        let start = move |settings: &Settings, clients: Clients| {
            let app: A = settings.read(|reader| A::start(reader, &clients))?;
            Ok(Started {
                warm_up: Box::pin(warm_up(app.clone())),
                service: Service(handler(app, clients.random().clone(), settings)),
            })
        };
        Self { start: Box::new(start) }
    }

    /// Creates a function whose event and response are JSON.
    fn of_events<A, R, F, W>(
        warm_up: impl Fn(A) -> W + Send + Sync + 'static,
        handler: impl Fn(A, Value, Surroundings) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        A: App,
        R: Serialize,
        F: Future<Output = Result<R, Error>> + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        Self::new(warm_up, move |app: A, random, _| {
            let handler = handler.clone();
            Handler::Event(Arc::new(move |event, context| {
                let (app, handler) = (app.clone(), handler.clone());
                let surroundings = Surroundings { deadline: Deadline::of(&context), random: random.clone() };
                Box::pin(async move {
                    let answer = async {
                        let answer = handler(app, event, surroundings).await?;
                        serde_json::to_value(answer).map_err(|error| Error::Internal(error.to_string()))
                    };
                    observe::invocation(&context, answer).await
                })
            }))
        })
    }

    /// Reads the settings and passes the clients to the function.
    ///
    /// # Errors
    /// [`SettingsError`] lists all missing and invalid settings.
    pub fn bind(&self, settings: &Settings, clients: impl Into<Clients>) -> Result<Service, SettingsError> {
        Ok((self.start)(settings, clients.into())?.service)
    }

    /// Returns the warm-up call, which opens the connection before the first event.
    ///
    /// The warm-up call needs no permissions beyond those of the handler.
    ///
    /// # Errors
    /// [`SettingsError`] lists all missing and invalid settings.
    pub fn warm_up(&self, settings: &Settings, clients: Clients) -> Result<BoxFuture<'static, ()>, SettingsError> {
        Ok((self.start)(settings, clients)?.warm_up)
    }
}

impl Service {
    /// Handles the text of an HTTP request as the binary does: without the JSON values of
    /// [`Service::call`]. Returns the text of the response, or `None` if the function has no route.
    pub async fn respond(&self, event: &str, context: Context) -> Option<String> {
        let Handler::Http(handler) = &self.0 else { return None };
        serde_json::to_string(&http::respond(handler, event, context).await.0).ok()
    }

    /// Invokes the function with an event in Lambda's format.
    pub async fn call(&self, event: Value, context: Context) -> Invocation {
        match &self.0 {
            Handler::Http(handler) => {
                let (response, usage) = http::respond(handler, &event.to_string(), context).await;
                Invocation { answer: serde_json::to_value(response).map_err(|error| error.to_string().into()), usage }
            }
            Handler::Event(handler) => {
                let (answer, usage) = handler(event, context).await;
                Invocation { answer: answer.map_err(Diagnostic::from), usage }
            }
        }
    }
}

/// Runs a Lambda function. The `main` of a binary consists of this call.
///
/// Starts the logs, reads the settings from the environment and opens the connection. Then handles
/// one event at a time. On a Managed Instance, AWS sets `AWS_LAMBDA_MAX_CONCURRENCY`, the number of
/// events to handle concurrently.
///
/// Returns a failure if a setting is invalid or the Lambda runtime stops. Logs the reason in one
/// line.
pub fn run(function: fn() -> Function) -> ExitCode {
    observe::start();
    let ended = runtime().map_err(Into::into).and_then(|runtime| runtime.block_on(serve(&function())));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(why = %error, "the function failed to start or stopped");
            ExitCode::FAILURE
        }
    }
}

async fn serve(function: &Function) -> Result<(), lambda_runtime::Error> {
    let settings = std::env::vars().collect();
    let started = (function.start)(&settings, Clients::of_environment().await?)?;
    // The warm-up belongs to the init phase, which has full CPU and its own time limit. If DynamoDB
    // is slow, the first event must not wait for the warm-up.
    if tokio::time::timeout(Duration::from_secs(2), started.warm_up).await.is_err() {
        tracing::warn!("the warm-up call timed out");
    }
    match started.service.0 {
        Handler::Http(handler) => http::serve(handler).await,
        Handler::Event(handler) => scheduled::serve(handler).await,
    }
}

/// Creates the Tokio runtime.
///
/// An execution environment that handles one event at a time needs only one thread. A Managed
/// Instance has several processors and sends events concurrently.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let several = std::env::var("AWS_LAMBDA_MAX_CONCURRENCY").is_ok_and(|limit| limit != "1");
    let mut builder = if several { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    builder.enable_all().build()
}
