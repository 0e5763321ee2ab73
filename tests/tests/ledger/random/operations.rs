//! The requests of the random test, and their outcomes.

use super::faults::Trouble;
use function::Invocation;
use jiff::Timestamp;
use keys::ledger::LegType;
use serde_json::{Value, json};
use std::slice;
use system_tests::{
    Asks,
    ledger::{BATCH, HOLDS, TRANSACTIONS, batch},
};

/// A leg of a transaction, with its amount in minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) account: usize,
    pub(super) leg_type: LegType,
    pub(super) minor: i128,
}

impl Part {
    pub(super) fn change(self) -> i128 {
        if self.leg_type == LegType::Debit { -self.minor } else { self.minor }
    }

    pub(super) fn reversed(self) -> Self {
        let leg_type = if self.leg_type == LegType::Debit { LegType::Credit } else { LegType::Debit };
        Self { leg_type, ..self }
    }
}

/// Returns the legs of a payment.
pub(super) fn payment(debit: usize, credit: usize, minor: i128) -> Vec<Part> {
    let sides = [(debit, LegType::Debit), (credit, LegType::Credit)];
    sides.map(|(account, leg_type)| Part { account, leg_type, minor }).to_vec()
}

/// A change of the ledger. `minor` is an amount in minor units. `None` means all that remains.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Transfer(Vec<Part>),
    Hold { debit: usize, credit: usize, minor: i128, expires: Option<Timestamp> },
    Capture { hold: String, minor: Option<i128> },
    Void { hold: String },
    Refund { original: String, minor: Option<i128> },
}

impl Action {
    /// The name in the statistics.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Transfer(_) => "transfer",
            Self::Hold { .. } => "hold",
            Self::Capture { .. } => "capture",
            Self::Void { .. } => "void",
            Self::Refund { .. } => "refund",
        }
    }

    /// The status of a response that reports success.
    pub(super) fn success(&self) -> u64 {
        if matches!(self, Self::Void { .. }) { 200 } else { 201 }
    }

    /// Returns the function, the route without its method, the path and its parameters.
    fn target(&self) -> (&'static str, &'static str, String, Value) {
        match self {
            Self::Transfer(_) => ("process-payment", TRANSACTIONS, TRANSACTIONS.to_owned(), Value::Null),
            Self::Hold { .. } => ("create-hold", HOLDS, HOLDS.to_owned(), Value::Null),
            Self::Capture { hold, .. } => {
                let path = format!("{HOLDS}/{hold}/capture");
                ("capture-hold", "/ledger/holds/{holdId}/capture", path, json!({"holdId": hold}))
            }
            Self::Void { hold } => {
                let path = format!("{HOLDS}/{hold}/void");
                ("void-hold", "/ledger/holds/{holdId}/void", path, json!({"holdId": hold}))
            }
            Self::Refund { original, .. } => {
                let (route, path) =
                    ("/ledger/transactions/{transactionId}/reversal", format!("{TRANSACTIONS}/{original}/reversal"));
                ("reverse-transaction", route, path, json!({"transactionId": original}))
            }
        }
    }
}

/// An action with its idempotency key and its request body.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) key: String,
    pub(super) action: Action,
    pub(super) body: Value,
}

/// The content of a request.
#[derive(Debug, Clone)]
pub(super) enum Work {
    One(Operation),
    /// Several transfers. Each of them has its own outcome.
    Batch(Vec<Operation>),
    /// The schedule that releases expired holds.
    Release,
    /// Stream records that the function may have received before.
    Stream {
        function: &'static str,
        records: Vec<Value>,
    },
}

/// A request, its time, and the fault that occurs during the request.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) work: Work,
    pub(super) at: Timestamp,
    pub(super) trouble: Trouble,
}

impl Request {
    pub(super) fn operations(&self) -> &[Operation] {
        match &self.work {
            Work::One(operation) => slice::from_ref(operation),
            Work::Batch(operations) => operations,
            Work::Release | Work::Stream { .. } => &[],
        }
    }

    pub(super) fn function(&self) -> &'static str {
        match &self.work {
            Work::One(operation) => operation.action.target().0,
            Work::Batch(_) => "process-batch",
            Work::Release => "release-expired-holds",
            Work::Stream { function, .. } => function,
        }
    }

    pub(super) fn event(&self) -> Value {
        match &self.work {
            Work::One(Operation { key, action, body }) => {
                let (_, route, path, parameters) = action.target();
                let route = format!("POST {route}");
                Asks { route: &route, path: &path, parameters, key: Some(key), body: Some(body) }.at(self.at)
            }
            Work::Batch(operations) => {
                let body = batch(operations.iter().map(|one| (one.key.as_str(), one.body.clone())));
                let (route, parameters) = ("POST /ledger/transactions/batch", Value::Null);
                Asks { route, path: BATCH, parameters, key: None, body: Some(&body) }.at(self.at)
            }
            // A schedule has whole seconds.
            Work::Release => {
                let time = Timestamp::from_second(self.at.as_second()).expect("a time");
                json!({"detail-type": "Scheduled Event", "time": time.to_string()})
            }
            Work::Stream { records, .. } => json!({"Records": records}),
        }
    }

    /// Reads the response of the function.
    ///
    /// # Panics
    /// Panics if the response reports neither a success nor a rejection nor an outage.
    pub(super) fn response(&self, invocation: Invocation) -> Response {
        match &self.work {
            Work::Release | Work::Stream { .. } => match invocation.answer {
                Ok(answer) => {
                    let failures = answer["batchItemFailures"].as_array();
                    let is_release = answer["released"].is_u64() && answer["skipped"].is_null();
                    assert!(failures.is_some() || is_release, "{answer}");
                    failures.is_none_or(Vec::is_empty).then(Vec::new)
                }
                Err(error) => {
                    let is_outage = matches!(error.error_type.as_str(), "throttled" | "unavailable");
                    assert!(is_outage, "{self:?}: {error:?}");
                    None
                }
            },
            Work::One(operation) => {
                let (status, body) = http(&invocation)?;
                Some(vec![Some(self.outcome(operation, status, body))])
            }
            Work::Batch(operations) => {
                let (status, body) = http(&invocation)?;
                let results = body["results"].as_array().map(Vec::as_slice).unwrap_or_default();
                assert_eq!((status, results.len()), (200, operations.len()), "{self:?}: {body}");
                Some(operations.iter().zip(results).map(|(one, result)| self.result(one, result)).collect())
            }
        }
    }

    /// Reads the outcome of a transfer in a batch. `None` if it is unknown.
    fn result(&self, operation: &Operation, result: &Value) -> Option<Outcome> {
        assert_eq!(result["idempotencyKey"], operation.key, "{result}");
        let status = result["status"].as_u64().expect("a status");
        let body = if status == 201 { &result["transaction"] } else { &result["problem"] };
        (!asks_for_retry(status)).then(|| self.outcome(operation, status, body.clone()))
    }

    fn outcome(&self, operation: &Operation, status: u64, body: Value) -> Outcome {
        let is_final = status == operation.action.success() || matches!(status, 409 | 422);
        assert!(is_final, "{operation:?}: {status} {body} of {self:?}");
        Outcome { status, body }
    }
}

fn asks_for_retry(status: u64) -> bool {
    matches!(status, 429 | 503)
}

/// Returns the status and the body of an HTTP response. `None` if the response asks for a retry.
fn http(invocation: &Invocation) -> Option<(u64, Value)> {
    let answer = invocation.answer.as_ref().expect("an answer");
    let (status, body) = answer["statusCode"].as_u64().zip(answer["body"].as_str()).expect("a response");
    (!asks_for_retry(status)).then(|| (status, serde_json::from_str(body).expect("JSON")))
}

/// The outcome of each operation of a request, where `None` is an unknown outcome. `None` instead
/// of the list if there is no response.
pub(super) type Response = Option<Vec<Option<Outcome>>>;

/// The outcome of an operation: the status and the body of its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) status: u64,
    pub(super) body: Value,
}

impl Outcome {
    /// The problem type of a rejected operation.
    pub(super) fn problem(&self) -> &str {
        let problem = self.body["type"].as_str().unwrap_or_default();
        problem.trim_start_matches("/problems/")
    }
}

/// An operation with all outcomes that its responses report.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    pub(super) operation: Operation,
    pub(super) at: Timestamp,
    pub(super) outcomes: Vec<Outcome>,
}

impl Settled {
    /// Returns the outcomes of the operations of a request.
    ///
    /// # Panics
    /// Panics if two responses report different successes of an operation, or if no response
    /// reports an outcome.
    pub(super) fn of(request: &Request, responses: &[Response]) -> Vec<Self> {
        let settled = request.operations().iter().enumerate().map(|(index, operation)| {
            let outcomes: Vec<Outcome> = outcomes(responses, index).flatten().cloned().collect();
            let settled = Self { operation: operation.clone(), at: request.at, outcomes };
            let successes: Vec<_> = settled.outcomes.iter().filter(|outcome| settled.is_success(outcome)).collect();
            assert!(successes.windows(2).all(|two| two[0] == two[1]), "{operation:?}: {successes:?}");
            assert!(!settled.outcomes.is_empty(), "{operation:?} has no outcome");
            settled
        });
        settled.collect()
    }

    fn is_success(&self, outcome: &Outcome) -> bool {
        outcome.status == self.operation.action.success()
    }

    /// The success, if the operation has changed the ledger.
    pub(super) fn success(&self) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| self.is_success(outcome))
    }

    /// The rejections. A rejected operation can succeed when it is repeated.
    pub(super) fn rejections(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| !self.is_success(outcome))
    }
}

fn outcomes(responses: &[Response], index: usize) -> impl Iterator<Item = Option<&Outcome>> {
    responses.iter().map(move |response| response.as_ref().and_then(|outcomes| outcomes[index].as_ref()))
}

/// Whether the outcome of each operation is known. An operation that a request could still change
/// after a rejection is unknown.
pub(super) fn is_settled(request: &Request, responses: &[Response]) -> bool {
    let operations = request.operations();
    if operations.is_empty() {
        return responses.iter().all(Option::is_some);
    }
    operations.iter().enumerate().all(|(index, operation)| {
        let is_success = |outcome: &Outcome| outcome.status == operation.action.success();
        let mut all = outcomes(responses, index);
        outcomes(responses, index).flatten().any(is_success) || all.all(|outcome| outcome.is_some())
    })
}
