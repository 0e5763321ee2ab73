//! A stack whose stream functions are killed, and receive records repeatedly and in any order.

use fastrand::Rng;
use function::{Context, Diagnostic, Invocation, Service};
use futures::future::BoxFuture;
use local::{Handler, Stack};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{self, Poll},
};
use system_tests::{patterns, wellness::stack};
use table::Usage;

pub(crate) const ENROLMENT: &str = "register-new-employee";
pub(crate) const JOBS: &str = "continue-job";
/// Maximum number of earlier records that the streams deliver again at a time.
const MAX_REPEATED: usize = 8;
/// A kill happens after at most 2 to the power of this number of polls of the function. A page of a
/// job takes about a hundred polls.
const MAX_EXPONENT: u32 = 10;

/// The deliveries to the functions of a stack.
#[derive(Default)]
pub(crate) struct Streams {
    services: OnceLock<BTreeMap<String, Service>>,
    state: Mutex<State>,
}

struct State {
    rng: Rng,
    /// Whether the functions of the streams run. Otherwise, they ignore all records.
    is_open: bool,
    /// The kills of each function that remain.
    kills: BTreeMap<&'static str, usize>,
    /// The records that each function has received.
    received: BTreeMap<&'static str, Vec<Value>>,
    repeated: usize,
}

impl Default for State {
    fn default() -> Self {
        let (kills, received) = (BTreeMap::new(), BTreeMap::new());
        Self { rng: Rng::with_seed(0), is_open: false, kills, received, repeated: 0 }
    }
}

impl Streams {
    /// Starts a stack. Its stream functions ignore all records until [`Streams::open`].
    pub(crate) async fn start(rng: Rng, kills: [(&'static str, usize); 2]) -> (Stack, Arc<Self>) {
        let streams = Arc::new(Self::default());
        (streams.state().rng, streams.state().kills) = (rng, kills.into());
        let handlers = patterns::all().into_iter().map(|pattern| (pattern.name, Self::handler(&streams, pattern.name)));
        let stack = stack().stacks(["wellness"]).handlers(handlers).start().await.expect("a stack");
        let service = |lambda: &local::template::Lambda| {
            let settings = lambda.environment.clone().into_iter().collect();
            let function = patterns::function_named(&lambda.name);
            (lambda.name.clone(), function.bind(&settings, stack.clients_of(lambda)).expect("valid settings"))
        };
        let services = stack.template().lambdas.iter().map(service).collect();
        assert!(streams.services.set(services).is_ok(), "the services are set once");
        (stack, streams)
    }

    fn handler(streams: &Arc<Self>, name: &'static str) -> Handler {
        let streams = Arc::clone(streams);
        Arc::new(move |event, context| -> BoxFuture<'static, Invocation> {
            let streams = Arc::clone(&streams);
            Box::pin(async move {
                let service = streams.services.get().expect("a started stack")[name].clone();
                if ![ENROLMENT, JOBS].contains(&name) {
                    return service.call(event, context).await;
                }
                streams.deliver(name, &service, event, context).await
            })
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers all records from now on.
    pub(crate) fn open(&self) {
        self.state().is_open = true;
    }

    /// Delivers a batch. Before it, the function may receive earlier records again, in any order.
    /// The function may be killed, and then receives the batch again.
    async fn deliver(&self, name: &'static str, service: &Service, event: Value, context: Context) -> Invocation {
        if !self.state().is_open {
            return done(Ok(json!({"batchItemFailures": []})));
        }
        if let Some(earlier) = self.earlier(name, &event) {
            // The response of this delivery is lost.
            drop(service.call(earlier, context.clone()).await);
        }
        let service = service.clone();
        let life = async move { service.call(event, context).await };
        let Some(polls) = self.polls_before_death(name) else { return life.await };
        if let Some(invocation) = (Mortal { life: Box::pin(life), polls }).await {
            return invocation;
        }
        // Several lanes may kill their runs at the same time.
        let mut state = self.state();
        let left = state.kills.get_mut(name).expect("a stream function");
        *left = left.saturating_sub(1);
        drop(state);
        let (error_type, error_message) = ("Runtime.ExitError".to_owned(), "killed".to_owned());
        done(Err(Diagnostic { error_type, error_message }))
    }

    /// Chooses records of this batch and of earlier ones. Remembers the records of the batch.
    fn earlier(&self, name: &'static str, event: &Value) -> Option<Value> {
        let mut state = self.state();
        let state = &mut *state;
        let received = state.received.entry(name).or_default();
        received.extend(event["Records"].as_array().expect("records").iter().cloned());
        let (count, is_due) = (state.rng.usize(1..=MAX_REPEATED), state.rng.u8(..4) == 0);
        let mut chosen = state.rng.choose_multiple(received.iter().cloned(), count);
        state.rng.shuffle(&mut chosen);
        state.repeated += if is_due { chosen.len() } else { 0 };
        is_due.then(|| json!({"Records": chosen}))
    }

    fn polls_before_death(&self, name: &str) -> Option<usize> {
        let mut state = self.state();
        let is_due = state.kills[name] > 0 && state.rng.u8(..4) > 0;
        let exponent = state.rng.u32(3..=MAX_EXPONENT);
        is_due.then(|| state.rng.usize(1..=2_usize.pow(exponent)))
    }
}

fn done(answer: Result<Value, Diagnostic>) -> Invocation {
    Invocation { answer, usage: Usage::default() }
}

/// A run that ends after a number of polls. A call to DynamoDB that is in flight at that moment may
/// still be executed.
struct Mortal {
    life: BoxedLife,
    polls: usize,
}

type BoxedLife = Pin<Box<dyn Future<Output = Invocation> + Send>>;

impl Future for Mortal {
    type Output = Option<Invocation>;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            return Poll::Ready(None);
        }
        self.polls -= 1;
        self.life.as_mut().poll(context).map(Some)
    }
}
