use crate::{App, Deadline, Error, EventHandler, Function, Input, Surroundings, input::Fields, system};
use keys::{Random, TimestampSeconds};
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde::Serialize;
use serde_json::Value;

/// An invocation of a scheduled function, by EventBridge or by an operator. Only an operator can
/// pass an input.
#[derive(Debug)]
pub struct Scheduled<I> {
    /// The input from the operator. Empty if EventBridge invokes the function.
    pub input: I,
    /// The scheduled time. For an operator, the time of the invocation.
    pub now: TimestampSeconds,
    /// The time by which the function must return.
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

/// Creates a function for a schedule. `warm_up` makes a DynamoDB call that the handler also has
/// permission for.
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

/// Handles events from the Lambda runtime (docs/decisions/run-concurrent.md).
///
/// The Lambda runtime logs the `Debug` output of errors. For a [`Diagnostic`], this output is only
/// the type and the message.
pub(crate) async fn serve(handler: EventHandler) -> Result<(), lambda_runtime::Error> {
    let serve = move |event: LambdaEvent<Value>| {
        let call = handler(event.payload, event.context);
        async { call.await.0.map_err(Diagnostic::from) }
    };
    lambda_runtime::run_concurrent(service_fn(serve)).await
}
