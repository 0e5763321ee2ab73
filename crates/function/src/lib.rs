//! How a Lambda starts, reads its settings, knows its caller, logs, measures and answers.
//!
//! An access pattern is a handler: [`http`] for a route, [`stream`] for a DynamoDB stream and
//! [`scheduled`] for a schedule each make a [`Function`] of it, and [`run`] is the whole `main` of
//! its Lambda. Nothing else in the workspace knows HTTP or the Lambda runtime.
//!
//! Handlers get the time and their random source passed in: only module `system` reads them.
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

/// What a domain's functions share: its tables and settings, made once a process.
pub trait App: Clone + Send + Sync + 'static {
    /// Reads what it needs; the reader collects every fault.
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self>;
}

/// One Lambda function: its handler, and how to start it.
pub struct Function {
    start: Start,
}

type Start = Box<dyn Fn(&Settings, Clients) -> Result<Started, SettingsError> + Send + Sync>;

struct Started {
    service: Service,
    /// A call that the function may do anyway, to open the connection before the first event.
    warm_up: BoxFuture<'static, ()>,
}

type HttpHandler = Arc<dyn Fn(lambda_http::Request) -> BoxFuture<'static, (Response<Body>, Usage)> + Send + Sync>;
type EventHandler = Arc<dyn Fn(Value, Context) -> BoxFuture<'static, (Result<Value, Error>, Usage)> + Send + Sync>;

/// A function bound to its settings and its client, ready to be invoked: what the Lambda runtime
/// and the local stack both call.
#[derive(Clone)]
pub struct Service(Handler);

#[derive(Clone)]
enum Handler {
    Http(HttpHandler),
    Event(EventHandler),
}

/// What an invocation gets passed in, beside its event.
struct Surroundings {
    deadline: Deadline,
    random: Random,
}

/// What came of an invocation.
#[derive(Debug)]
pub struct Invocation {
    /// The answer, or the error that Lambda would report.
    pub answer: Result<Value, Diagnostic>,
    /// What it did to DynamoDB.
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

    /// The function of events that are JSON in and JSON out.
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

    /// Checks the settings and gives the function its clients.
    ///
    /// # Errors
    /// All that is wrong with the settings.
    pub fn bind(&self, settings: &Settings, clients: impl Into<Clients>) -> Result<Service, SettingsError> {
        Ok((self.start)(settings, clients.into())?.service)
    }

    /// The call that opens the connection before the first event: one that the function may make anyway.
    ///
    /// # Errors
    /// All that is wrong with the settings.
    pub fn warm_up(&self, settings: &Settings, clients: Clients) -> Result<BoxFuture<'static, ()>, SettingsError> {
        Ok((self.start)(settings, clients)?.warm_up)
    }
}

impl Service {
    /// Invokes the function with the event as the Lambda service would send it.
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

/// The whole of a Lambda's `main`: settings from the environment, logs, the client and its warm
/// connection, then one event after another; or as many at once as `AWS_LAMBDA_MAX_CONCURRENCY` says, which AWS sets on a
/// Managed Instance. It ends for faulty settings and when the Lambda runtime goes away, and logs why in one line.
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
    // Init has its own time limit and full CPU; a cold DynamoDB must not eat the first event's time.
    if tokio::time::timeout(Duration::from_secs(2), started.warm_up).await.is_err() {
        tracing::warn!("the connection is still cold");
    }
    match started.service.0 {
        Handler::Http(handler) => http::serve(handler).await,
        Handler::Event(handler) => scheduled::serve(handler).await,
    }
}

/// One thread for an environment that gets one event at a time; a Managed Instance hands out several at once, and has the
/// processors for them.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let several = std::env::var("AWS_LAMBDA_MAX_CONCURRENCY").is_ok_and(|limit| limit != "1");
    let mut builder = if several { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    builder.enable_all().build()
}
