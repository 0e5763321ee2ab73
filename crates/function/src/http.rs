use crate::{
    App, Caller, Contract, Error, Function, Handler, HttpHandler, Input, Listing, Reply, answer, event,
    input::{Fields, Paging},
    observe, system,
};
use ::http::Method;
use jiff::Timestamp;
use keys::{IdempotencyKey, KeyRange, Random, RequestId, TimestampMillis, TimestampSeconds};
use lambda_http::{
    Context, LambdaEvent, RequestExt, aws_lambda_events::apigw::ApiGatewayV2httpResponse, request::RequestContext,
    service_fn,
};
use serde_json::value::RawValue;
use std::{convert::Infallible, sync::Arc};
use table::{Binding, Usage};

/// Describes a handler: its input, and its response. [`crate::Pattern`] has this function.
pub const fn contract<A, I, R, F, H>(_: &H) -> fn(&mut Contract)
where
    H: Fn(A, Request<I>) -> F,
    I: Input,
    R: Reply,
    F: Future<Output = Result<R, Error>>,
{
    fn describe<I: Input, R: Reply>(contract: &mut Contract) {
        contract.needs_body = I::BODY;
        I::describe(contract);
        R::describe(contract);
    }
    describe::<I, R>
}

/// A request with validated input.
#[derive(Debug)]
pub struct Request<I> {
    /// The validated input.
    pub input: I,
    /// The caller.
    pub caller: Caller,
    /// The time of the request, from API Gateway.
    pub now: TimestampSeconds,
    /// The time of the request for the first page of the list. Defaults such as "today" refer to
    /// this time on every page.
    ///
    /// Without a cursor, this time equals `now`. The time is unverified until [`Request::listing`]
    /// has checked the cursor.
    pub first_page: TimestampSeconds,
    /// The time of the request, in milliseconds.
    pub milli: TimestampMillis,
    /// The random source for new ids.
    pub random: Random,
    /// The id of the invocation.
    pub id: RequestId,
    /// The `Idempotency-Key` of the caller, if present.
    pub idempotency_key: Option<IdempotencyKey>,
    path: String,
    paging: Option<Paging>,
}

impl<I: Input> Request<I> {
    fn read(request: &lambda_http::Request, random: Random, scope_prefix: &str) -> Result<Self, Error> {
        let mut fields = Fields::of_request::<I>(request)?;
        let creates = request.method() == Method::POST;
        let idempotency_key = if creates { fields.header("idempotency-key") } else { None };
        let input = fields.read()?;
        let context = match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV2(context)) => Some(context),
            _ => None,
        };
        let claims = context.and_then(|context| context.authorizer.as_ref()?.jwt.as_ref());
        let epoch = context.map(|context| context.time_epoch).filter(|epoch| *epoch > 0);
        let instant = epoch.and_then(|epoch| Timestamp::from_millisecond(epoch).ok()).unwrap_or_else(system::now);
        let started = fields.paging.as_ref().and_then(|paging| paging.cursor.as_ref()).map(table::Cursor::started);
        let first = started.and_then(|started| Timestamp::from_second(started).ok()).unwrap_or(instant);
        let parameters = request.path_parameters_ref();
        let route = context.and_then(|context| context.route_key.as_deref()).unwrap_or_default();
        Ok(Self {
            input,
            caller: claims.map(|jwt| Caller::from_claims(&jwt.claims, scope_prefix)).unwrap_or_default(),
            now: second(instant)?,
            first_page: second(first)?,
            milli: TimestampMillis::containing(instant).map_err(|error| Error::Internal(error.to_string()))?,
            id: request_id(request, instant, &random),
            random,
            idempotency_key,
            path: answer::path(route, |name| Some(parameters?.first(name)?.to_owned())),
            paging: fields.paging,
        })
    }
}

impl<I> Request<I> {
    /// Checks the cursor and returns the requested page of the list.
    ///
    /// A cursor is valid only for requests with the same path, range and filter. Operators and
    /// other callers cannot use each other's cursors (docs/decisions/lists.md).
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] (400) if the cursor was edited or belongs to a different list.
    pub fn listing(&self, range: KeyRange, filter: &str) -> Result<Listing, Error> {
        let Paging { limit, cursor } = self.paging.clone().unwrap_or(Paging { limit: 50, cursor: None });
        let reach = self.caller.reach();
        let binding = Binding::new(&self.path).with(reach).with(filter);
        let position = cursor.as_ref().map(|cursor| cursor.position(&range));
        let rest = match cursor {
            Some(cursor) => {
                let rest = cursor.open(binding.clone(), &range);
                rest.map_err(|error| Error::invalid("/query/cursor", error))?
            }
            None => range.clone(),
        };
        Ok(Listing {
            range: rest,
            position,
            limit,
            whole: range,
            binding,
            started: self.first_page.instant().as_second(),
        })
    }
}

fn second(instant: Timestamp) -> Result<TimestampSeconds, Error> {
    TimestampSeconds::containing(instant).map_err(|error| Error::Internal(error.to_string()))
}

fn request_id(request: &lambda_http::Request, now: Timestamp, random: &Random) -> RequestId {
    let id = request.lambda_context_ref().and_then(|context| context.request_id.parse().ok());
    id.unwrap_or_else(|| RequestId::new(now, random))
}

/// Creates a function for HTTP requests. `warm_up` makes a DynamoDB call that the
/// function's policy allows.
pub fn http<A, I, R, F, W>(
    handler: impl Fn(A, Request<I>) -> F + Clone + Send + Sync + 'static,
    warm_up: impl Fn(A) -> W + Send + Sync + 'static,
) -> Function
where
    A: App,
    I: Input + 'static,
    R: Reply + 'static,
    F: Future<Output = Result<R, Error>> + Send + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    Function::new(warm_up, move |app: A, random, settings| {
        let (handler, scope_prefix) = (handler.clone(), Arc::<str>::from(settings.text("SCOPE_PREFIX")));
        Handler::Http(Arc::new(move |request| {
            let (app, handler, random) = (app.clone(), handler.clone(), random.clone());
            let scope_prefix = Arc::clone(&scope_prefix);
            Box::pin(async move {
                let context = request.lambda_context();
                let answer = async {
                    let request = Request::read(&request, random, &scope_prefix)?;
                    let path = request.path.clone();
                    // The futures around the handler are copied. The box keeps the handler out of
                    // the copies.
                    event::within_limit(Box::pin(handler(app, request)).await?.reply(&path)?)
                };
                let (answer, usage) = observe::invocation(&context, answer).await;
                (answer.unwrap_or_else(|error| error.response(&context.request_id)), usage)
            })
        }))
    })
}

/// Handles events from the Lambda runtime (docs/decisions/cold-start.md).
pub(crate) async fn serve(handler: HttpHandler) -> Result<(), lambda_runtime::Error> {
    let serve = move |event: LambdaEvent<Box<RawValue>>| {
        let handler = handler.clone();
        async move { Ok::<_, Infallible>(respond(&handler, event.payload.get(), event.context).await.0) }
    };
    lambda_runtime::run_concurrent(service_fn(serve)).await
}

/// Handles the JSON text of an event.
pub(crate) async fn respond(handler: &HttpHandler, event: &str, context: Context) -> (ApiGatewayV2httpResponse, Usage) {
    let (response, usage) = match event::request(event) {
        Ok(request) => handler(request.with_lambda_context(context)).await,
        Err(error) => {
            let (Err(error), usage) = observe::invocation(&context, async { Err::<Infallible, _>(error) }).await;
            (error.response(&context.request_id), usage)
        }
    };
    (event::response(response), usage)
}
