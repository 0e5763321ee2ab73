//! Invokes functions as the Lambda service does, with a timeout and a context.
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use function::{Clients, Context, Diagnostic, Function, Invocation, Service, Settings};
use futures::future::{BoxFuture, pending};
use lambda_runtime::Config;
use serde_json::Value;
use table::Usage;
use tokio::{task::JoinHandle, time::timeout};
use uuid::Uuid;

use console::{Failure, Outcome, Recorder, length, recorded};
use events::functions;
use hostile::Run;
use template::{ACCOUNT, REGION};

/// Maximum size of an answer in bytes, as JSON. The body of an HTTP answer is an escaped string
/// inside it.
const MAX_ANSWER: usize = 6_291_556;

/// Maximum size of the event of a synchronous invocation in bytes, as JSON. The body of an HTTP
/// request is an escaped string inside it.
pub(crate) const MAX_EVENT: usize = 6_291_456;

/// Handler of an event.
pub type Handler = Arc<dyn Fn(Value, Context) -> BoxFuture<'static, Invocation> + Send + Sync>;
/// Constructor of a handler. Fails if the settings are invalid.
pub(crate) type Bind = Box<dyn Fn(&Settings, Clients) -> Result<Handler, String> + Send + Sync>;

/// Function that is ready for invocations.
pub(crate) struct Lambda {
    pub(crate) spec: template::Lambda,
    config: Arc<Config>,
    handler: Handler,
    recorder: Option<Arc<Recorder>>,
    /// Whether the execution environment can fail (docs/hostile.md).
    can_fail: bool,
}

impl Lambda {
    pub(crate) fn new(spec: template::Lambda, handler: Handler, recorder: Option<Arc<Recorder>>) -> Self {
        let config = Config {
            function_name: spec.name.clone(),
            memory: spec.memory,
            version: "$LATEST".to_owned(),
            log_stream: "local".to_owned(),
            log_group: "local".to_owned(),
        };
        Self { spec, config: Arc::new(config), handler, recorder, can_fail: false }
    }

    /// Sets whether the execution environment can fail. Default: it never fails.
    pub(crate) fn can_fail(self, can_fail: bool) -> Self {
        Self { can_fail, ..self }
    }

    /// Returns the same function with other clients.
    pub(crate) fn bound(&self, clients: Clients) -> Result<Self, String> {
        let (_, function) = functions().find(|(name, _)| *name == self.spec.name).ok_or("no crate has the function")?;
        let settings = self.spec.environment.clone().into_iter().collect();
        Ok(Self::new(self.spec.clone(), bind(function)(&settings, clients)?, None))
    }

    /// Runs the function once. As in Lambda, the invocation continues if the caller disconnects.
    pub(crate) async fn invoke(&self, event: Value) -> Outcome {
        let Some(recorder) = &self.recorder else {
            return self.run((self.handler)(event, self.context())).await;
        };
        let running = Recorder::begin(&self.spec.name, &event);
        let outcome = self.run(recorded(Arc::clone(&running), (self.handler)(event, self.context()))).await;
        recorder.end(&running, &outcome);
        outcome
    }

    async fn run(&self, work: impl Future<Output = Invocation> + Send + 'static) -> Outcome {
        if self.can_fail {
            let run = Run::start(self.spec.timeout);
            return self.finish(tokio::spawn(Arc::clone(&run).scope(work)), Some(&run)).await;
        }
        self.finish(tokio::spawn(work), None).await
    }

    /// Waits for the invocation, at most until its timeout.
    async fn finish(&self, mut task: JoinHandle<Invocation>, run: Option<&Arc<Run>>) -> Outcome {
        let failure = |kind: &str, message| {
            let failure = Failure { kind: kind.to_owned(), message };
            Outcome { answer: Err(failure), usage: Usage::default() }
        };
        let killed = async {
            match run {
                Some(run) => run.killed().await,
                None => pending().await,
            }
        };
        let ended = tokio::select! {
            ended = timeout(self.spec.timeout, &mut task) => ended,
            () = killed => {
                task.abort();
                // The calls of the invocation end before its response.
                let _ = task.await;
                return failure("Runtime.ExitError", "Runtime exited with error: signal: killed".to_owned());
            }
        };
        match ended {
            Ok(Ok(Invocation { answer, usage })) => {
                let failure = |error: Diagnostic| Failure { kind: error.error_type, message: error.error_message };
                Outcome { answer: answer.map_err(failure).and_then(within_limit), usage }
            }
            Ok(Err(panicked)) => failure("Runtime.ExitError", panicked.to_string()),
            Err(_) => {
                if !run.is_some_and(|run| run.is_frozen()) {
                    task.abort();
                }
                let seconds = self.spec.timeout.as_secs_f64();
                failure("Sandbox.Timedout", format!("Task timed out after {seconds:.2} seconds"))
            }
        }
    }

    fn context(&self) -> Context {
        let mut context = Context::default();
        context.request_id = Uuid::new_v4().to_string();
        context.deadline = deadline(self.spec.timeout);
        context.invoked_function_arn = format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{}", self.spec.name);
        context.env_config = Arc::clone(&self.config);
        context
    }
}

fn within_limit(answer: Value) -> Result<Value, Failure> {
    if length(&answer) <= MAX_ANSWER {
        return Ok(answer);
    }
    let message = format!("Response payload size exceeded maximum allowed payload size ({MAX_ANSWER} bytes).");
    Err(Failure { kind: "Function.ResponseSizeTooLarge".to_owned(), message })
}

fn deadline(timeout: Duration) -> u64 {
    let now = SystemTime::from(function::now());
    let end = (now + timeout).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(end.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the constructor for a function of a service crate.
pub(crate) fn bind(function: Function) -> Bind {
    Box::new(move |settings, clients| {
        let service = function.bind(settings, clients).map_err(|error| error.to_string())?;
        Ok(handler(service))
    })
}

fn handler(service: Service) -> Handler {
    Arc::new(move |event, context| {
        let service = service.clone();
        Box::pin(async move { service.call(event, context).await })
    })
}

#[cfg(test)]
mod tests;
