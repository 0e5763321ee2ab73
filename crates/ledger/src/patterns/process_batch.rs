//! L12: posts up to 100 transactions of one request
//! ([requirement](../../../../docs/requirements/ledger.md#batches-of-transfers),
//! [decision](../../../../docs/decisions/ledger-throughput.md)).

use crate::{
    Ledger,
    batch::BatchRequest,
    cost::{Calls, Pattern},
    model::access::user,
    model::transaction::TransactionBody,
    patterns::process_payment::{ProcessPaymentInput, describe_transaction},
};
use function::{Contract, Error, Fault, Fields, Input, Json, Request, Route, Trigger, read_record};
use keys::IdempotencyKey;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use std::collections::BTreeSet;
use table::JsonText;

pub const PATTERN: Pattern = Pattern {
    id: "L12",
    name: "process-batch",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/transactions/batch",
        scopes: &["ledger:write", "ledger:operate"],
        summary: "Post up to 100 transactions, each with its own outcome",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| case.posted(true).read(crate::cost::LEDGER, case.looked_at()))],
    contract: function::contract(&process_batch),
    function: || function::http(process_batch, Ledger::warm_by_batch_get),
};

/// Maximum number of transactions in a batch.
const MAX_TRANSACTIONS: usize = 100;

/// The request body.
#[derive(Debug, Clone)]
pub struct ProcessBatchInput(Vec<NewEntry>);

/// A transaction of the batch.
#[derive(Debug, Clone)]
struct NewEntry {
    key: IdempotencyKey,
    transaction: ProcessPaymentInput,
}

impl Input for NewEntry {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (key, transaction) = (fields.body("idempotencyKey"), ProcessPaymentInput::read_body(fields));
        Some(Self { key: key?, transaction: transaction? })
    }

    fn describe(contract: &mut Contract) {
        contract.body::<IdempotencyKey>("idempotencyKey", "", true);
        describe_transaction(contract);
        contract.name_body("BatchEntry");
    }
}

impl Input for ProcessBatchInput {
    const BODY: bool = true;
    const MAX_BODY: usize = 256 * 1024;

    fn read(fields: &mut Fields) -> Option<Self> {
        let texts = fields.body::<Vec<Box<RawValue>>>("transactions")?;
        if !(1..=MAX_TRANSACTIONS).contains(&texts.len()) {
            return fields.fault("/body/transactions", format!("must have 1 to {MAX_TRANSACTIONS} transactions"));
        }
        let (mut entries, mut keys) = (Vec::with_capacity(texts.len()), BTreeSet::new());
        for (number, text) in texts.iter().enumerate() {
            let at = format!("/body/transactions/{number}");
            match read_record::<NewEntry>(text.get()) {
                Ok(entry) if keys.insert(entry.key.clone()) => entries.push(entry),
                Ok(_) => {
                    fields.fault::<()>(&format!("{at}/idempotencyKey"), "must differ from the other keys");
                }
                Err(error) => refuse(fields, &at, error),
            }
        }
        Some(Self(entries))
    }

    fn describe(contract: &mut Contract) {
        let entry = contract.nested::<NewEntry>();
        contract.body::<Vec<JsonText>>("transactions", "The keys must differ.", true);
        contract.name_body("NewBatch");
        contract.adapt_body(|body| {
            let list = &mut body["properties"]["transactions"];
            (list["minItems"], list["maxItems"], list["items"]) = (1.into(), MAX_TRANSACTIONS.into(), json!(entry));
        });
    }
}

/// Reports the faults of a transaction at its place in the body.
fn refuse(fields: &mut Fields, at: &str, error: Error) {
    let faults = match error {
        Error::Invalid(faults) => faults,
        other => vec![Fault { pointer: String::new(), detail: other.to_string() }],
    };
    for Fault { pointer, detail } in faults {
        let rest = pointer.strip_prefix("/body").unwrap_or_default();
        fields.fault::<()>(&format!("{at}{rest}"), detail);
    }
}

/// The outcomes of a batch, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchBody {
    #[schemars(length(min = 1, max = MAX_TRANSACTIONS))]
    results: Vec<ResultBody>,
}

/// The outcome of a transaction. It has a `transaction` if the status is 201, and otherwise a
/// `problem`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BatchResult")]
struct ResultBody {
    idempotency_key: IdempotencyKey,
    #[schemars(range(min = 201, max = 599))]
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction: Option<TransactionBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "problem")]
    problem: Option<Value>,
}

fn problem(_: &mut SchemaGenerator) -> Schema {
    Schema::new_ref("#/components/schemas/Problem".to_owned())
}

/// Posts each transaction as [`process_payment`](super::process_payment) does, exactly once. A
/// rejected transaction does not affect the others.
///
/// # Errors
/// Returns 400 if a transaction is invalid, and 413 for a body over 256 KB. Nothing is then posted.
pub async fn process_batch(ledger: Ledger, request: Request<ProcessBatchInput>) -> Result<Json<BatchBody>, Error> {
    let by = user(&request.caller)?;
    let entries = request.input.0.into_iter();
    let drafts = entries.map(|entry| entry.transaction.draft(&by, Some(entry.key), request.milli, &request.random));
    let drafts: Vec<_> = drafts.collect();
    let batch = BatchRequest { caller: &request.caller, now: request.milli, random: &request.random };
    let outcomes = Box::pin(ledger.books.post_all(&drafts, batch)).await;
    let results = drafts.into_iter().zip(outcomes).filter_map(|(draft, outcome)| {
        let idempotency_key = draft.key?;
        let (status, transaction, problem) = match outcome {
            Ok(posted) => (201, Some(posted.body(&request.caller)), None),
            Err(error) => {
                let (status, problem) = error.as_part();
                (status, None, Some(problem))
            }
        };
        Some(ResultBody { idempotency_key, status, transaction, problem })
    });
    Ok(Json(BatchBody { results: results.collect() }))
}
