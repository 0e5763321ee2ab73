use crate::{App, Deadline, Error, EventHandler, Function, Input, Surroundings, input::Fields, system};
use keys::{Random, TimestampSeconds};
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde::Serialize;
use serde_json::Value;

/// A run of scheduled work. EventBridge starts it without an input, or an operator with one.
#[derive(Debug)]
pub struct Scheduled<I> {
    /// The input of the operator. EventBridge sends none.
    pub input: I,
    /// The scheduled time, or the time of the operator's invocation.
    pub now: TimestampSeconds,
    /// The time by which the run must end.
    pub deadline: Deadline,
    /// The random source for new ids.
    pub random: Random,
}

impl<I: Input> Scheduled<I> {
    fn read(event: &Value, surroundings: Surroundings) -> Result<Self, Error> {
        let Surroundings { deadline, random } = surroundings;
        let by_schedule = event.get("detail-type").is_some();
        let due = event.get("time").and_then(Value::as_str).filter(|_| by_schedule);
        let now = match due.map(str::parse::<TimestampSeconds>) {
            Some(Ok(due)) => due,
            Some(Err(error)) => return Err(Error::invalid("/time", error)),
            None => TimestampSeconds::containing(system::now()).map_err(|error| Error::Internal(error.to_string()))?,
        };
        let input = if by_schedule { "{}".to_owned() } else { event.to_string() };
        Ok(Self { input: Fields::of_event(&input)?.read()?, now, deadline, random })
    }
}

/// Creates the function of a schedule. `warm_up` makes a call that the handler is permitted to
/// make.
pub fn scheduled<A, I, R, F, W>(
    handler: impl Fn(A, Scheduled<I>) -> F + Clone + Send + Sync + 'static,
    warm_up: impl Fn(A) -> W + Send + Sync + 'static,
) -> Function
where
    A: App,
    I: Input + 'static,
    R: Serialize + 'static,
    F: Future<Output = Result<R, Error>> + Send + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    Function::of_events(warm_up, move |app: A, event, surroundings| {
        let handler = handler.clone();
        async move { handler(app, Scheduled::read(&event, surroundings)?).await }
    })
}

/// Handles events from the Lambda runtime.
///
/// The runtime logs errors with `Debug`. A [`Diagnostic`] contains only text.
pub(crate) async fn serve(handler: EventHandler) -> Result<(), lambda_runtime::Error> {
    let serve = move |event: LambdaEvent<Value>| {
        let call = handler(event.payload, event.context);
        async { call.await.0.map_err(Diagnostic::from) }
    };
    lambda_runtime::run_concurrent(service_fn(serve)).await
}
