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
        let mut fields = Fields::of_event(&event.to_string())?;
        let (input, now) = if ENVELOPE.iter().any(|member| fields.has_body(member)) {
            let Envelope(time) = fields.read()?;
            (Fields::of_event("{}")?.read()?, time)
        } else {
            let now = TimestampSeconds::containing(system::now());
            (fields.read()?, now.map_err(|error| Error::Internal(error.to_string()))?)
        };
        Ok(Self { input, now, deadline, random })
    }
}

/// Members that only an event of EventBridge has. An input of an operator has none of them.
const ENVELOPE: [&str; 5] = ["detail-type", "detail", "source", "time", "resources"];

/// The event of a schedule, with its time. Every member must have its type, so that an event that
/// was written by hand cannot stand for another day (docs/decisions/input.md).
struct Envelope(TimestampSeconds);

impl Input for Envelope {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (kind, time) = (fields.body::<String>("detail-type"), fields.body("time"));
        if kind.is_some_and(|kind| kind != "Scheduled Event") {
            fields.fault::<()>("/body/detail-type", "must be \"Scheduled Event\"");
        }
        // EventBridge Scheduler sends the text `{}`.
        match fields.body_if_any::<Value>("detail") {
            None => {}
            Some(Value::Object(detail)) if detail.is_empty() => {}
            Some(Value::String(detail)) if detail == "{}" => {}
            Some(_) => {
                fields.fault::<()>(
                    "/body/detail",
                    "must be {}: for an input, send it as the event, such as {\"date\": …}",
                );
            }
        }
        for text in ["version", "id", "source", "account", "region", "replay-name"] {
            fields.body_if_any::<String>(text);
        }
        fields.body_if_any::<Vec<String>>("resources");
        time.map(Self)
    }

    fn describe(_: &mut crate::Contract) {}
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

/// Handles events from the Lambda runtime (docs/decisions/cold-start.md).
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
