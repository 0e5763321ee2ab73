//! Lambda runtime of the services: start, settings, caller, input, responses, errors, logs and
//! metrics.
//!
//! A handler implements an access pattern. [`http`] turns the handler of a route into a
//! [`Function`], [`stream`] the handler of a DynamoDB stream, and [`scheduled`] the handler of a
//! schedule. The `main` of a Lambda only calls [`run`]. No other crate of the services depends on
//! HTTP or the Lambda runtime.
//!
//! Handlers receive the time and a random source as arguments. Only the module `system` asks the
//! operating system for them (docs/decisions/randomness.md).
#![deny(clippy::disallowed_methods)]

mod answer;
mod caller;
mod client;
mod deadline;
mod environment;
mod error;
mod fingerprint;
mod http;
mod input;
mod observe;
mod once;
mod pattern;
mod problem;
mod scheduled;
mod settings;
mod stream;
mod system;
mod words;

pub use answer::{Accepted, Created, Json, List, Listing, Located, NoContent, Put, Reply, Upserted, path};
pub use aws_lambda_events::dynamodb::EventRecord;
pub use caller::Caller;
pub use client::Clients;
pub use deadline::Deadline;
pub use error::{Error, Fault, optimistically};
pub use fingerprint::Fingerprint;
pub use http::{Request, http};
pub use input::{Fields, Input};
pub use lambda_runtime::{Context, Diagnostic};
pub use observe::count;
pub use once::IdempotentRequest;
pub use pattern::{Calls, Declared, Pattern, Route, Trigger, by_number};
pub use problem::Problem;
pub use scheduled::{Scheduled, scheduled};
pub use settings::{Settings, SettingsError, SettingsReader};
pub use stream::{Batch, Record, stream};
pub use system::system_random;
pub use words::{BoundedText, InvalidText};

use futures::future::BoxFuture;
use keys::Random;
use lambda_http::{Body, Response};
use serde::Serialize;
use serde_json::Value;
use std::{process::ExitCode, sync::Arc, time::Duration};
use table::Usage;
use tokio::runtime::Builder;

/// State that the functions of a service share: its tables and settings. Each process creates one.
pub trait App: Clone + Send + Sync + 'static {
    /// Reads the settings and creates the state.
    ///
    /// Returns `None` if a setting is missing or invalid. `settings` collects all faults.
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self>;
}

/// A Lambda function: a handler, and the steps that start it.
pub struct Function {
    start: Start,
}

type Start = Box<dyn Fn(&Settings, Clients) -> Result<Started, SettingsError> + Send + Sync>;

struct Started {
    service: Service,
    /// A DynamoDB call that opens the connection before the first event.
    warm_up: BoxFuture<'static, ()>,
}

type HttpHandler = Arc<dyn Fn(lambda_http::Request) -> BoxFuture<'static, (Response<Body>, Usage)> + Send + Sync>;
type EventHandler = Arc<dyn Fn(Value, Context) -> BoxFuture<'static, (Result<Value, Error>, Usage)> + Send + Sync>;

/// A function with its settings and clients.
///
/// The Lambda runtime and the local stack invoke it.
#[derive(Clone)]
pub struct Service(Handler);

#[derive(Clone)]
enum Handler {
    Http(HttpHandler),
    Event(EventHandler),
}

/// Arguments of an invocation besides the event.
struct Surroundings {
    deadline: Deadline,
    random: Random,
}

/// The result of an invocation.
#[derive(Debug)]
pub struct Invocation {
    /// The response, or the error that Lambda reports.
    pub answer: Result<Value, Diagnostic>,
    /// The DynamoDB calls of the invocation.
    pub usage: Usage,
}

impl Function {
    fn new<A, W>(
        warm_up: impl Fn(A) -> W + Send + Sync + 'static,
        handler: impl Fn(A, Random) -> Handler + Send + Sync + 'static,
    ) -> Self
    where
        A: App,
        W: Future<Output = ()> + Send + 'static,
    {
        let start = move |settings: &Settings, clients: Clients| {
            let app: A = settings.read(|reader| A::start(reader, &clients))?;
            Ok(Started {
                warm_up: Box::pin(warm_up(app.clone())),
                service: Service(handler(app, clients.random().clone())),
            })
        };
        Self { start: Box::new(start) }
    }

    /// Creates a function whose event and response are both JSON.
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
        Self::new(warm_up, move |app: A, random| {
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

    /// Reads the settings and connects the function to its clients.
    ///
    /// # Errors
    /// Returns all missing and invalid settings.
    pub fn bind(&self, settings: &Settings, clients: impl Into<Clients>) -> Result<Service, SettingsError> {
        Ok((self.start)(settings, clients.into())?.service)
    }

    /// Returns the call that opens the connection before the first event.
    ///
    /// The call uses only permissions that the function already has.
    ///
    /// # Errors
    /// Returns all missing and invalid settings.
    pub fn warm_up(&self, settings: &Settings, clients: Clients) -> Result<BoxFuture<'static, ()>, SettingsError> {
        Ok((self.start)(settings, clients)?.warm_up)
    }
}

impl Service {
    /// Invokes the function with an event in the format of the Lambda service.
    pub async fn call(&self, event: Value, context: Context) -> Invocation {
        match &self.0 {
            Handler::Http(handler) => http::invoke(handler, event, context).await,
            Handler::Event(handler) => {
                let (answer, usage) = handler(event, context).await;
                Invocation { answer: answer.map_err(Diagnostic::from), usage }
            }
        }
    }
}

/// Runs a Lambda function. The `main` of its binary only calls this function.
///
/// Reads the settings from the environment, starts the logs, opens the connection and then handles
/// events one at a time. On a Managed Instance, AWS sets `AWS_LAMBDA_MAX_CONCURRENCY`, and the
/// function handles that many events concurrently.
///
/// Returns a failure if a setting is invalid or the Lambda runtime ends, and logs the reason in one
/// line.
#[must_use]
pub fn run(function: &Function) -> ExitCode {
    observe::start();
    let ended = runtime().map_err(Into::into).and_then(|runtime| runtime.block_on(serve(function)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(why = %error, "the function can't run");
            ExitCode::FAILURE
        }
    }
}

async fn serve(function: &Function) -> Result<(), lambda_runtime::Error> {
    let settings = std::env::vars().collect();
    let started = (function.start)(&settings, Clients::of_environment().await?)?;
    // The init phase has a time limit of its own and full CPU. A slow DynamoDB must not use up the
    // time of the first event.
    if tokio::time::timeout(Duration::from_secs(2), started.warm_up).await.is_err() {
        tracing::warn!("the connection is still cold");
    }
    match started.service.0 {
        Handler::Http(handler) => http::serve(handler).await,
        Handler::Event(handler) => scheduled::serve(handler).await,
    }
}

/// Creates the Tokio runtime.
///
/// An execution environment that handles one event at a time needs only one thread. A Managed
/// Instance sends several events at once and has several processors.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let several = std::env::var("AWS_LAMBDA_MAX_CONCURRENCY").is_ok_and(|limit| limit != "1");
    let mut builder = if several { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    builder.enable_all().build()
}
