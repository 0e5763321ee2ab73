//! L6: reverses a transaction, at most once
//! ([decision](../../../../docs/decisions/ledger-idempotency.md)). The
//! [requirement](../../../../docs/requirements/ledger.md#where-our-keys-differ) does not name this
//! pattern.

use crate::{
    Ledger, Posting,
    cost::{Calls, Pattern},
    model::transaction::{Draft, REVERSAL, TransactionBody},
    patterns::get_transaction,
    post::Payer,
    store::user,
};
use function::{Error, Fields, Fingerprint, Function, Input, Located, Problem, Request, Route, Trigger};
use keys::TransactionId;
use table::Units;

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(reverse_transaction, Ledger::warm_by_query)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L6",
    name: "reverse-transaction",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/transactions/{transactionId}/reversal",
        scopes: &["ledger:write", "ledger:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "PK = TXN#<id>, strongly consistent; then as L3, with debits and credits exchanged. The same transaction puts the reversal marker if absent: PK = TXN#<id>, SK = REVERSAL",
        formula: "⌈header and legs⌉ R, then as L3, plus 2 W for the reversal marker; GSI2 1 W only with an Idempotency-Key",
        cost: |case| {
            let reads = case.collection() + case.looked_at();
            case.posted(false).read(crate::cost::LEDGER, reads).write(crate::cost::LEDGER, Units::whole(2))
        },
    }],
    function,
};

/// The requested transaction.
#[derive(Debug, Clone)]
pub struct OfTransaction(pub(crate) TransactionId);

impl Input for OfTransaction {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.path("transactionId").map(Self)
    }
}

/// Reverses a transaction with a new transaction that has the opposite legs.
///
/// The caller needs access to the accounts that the reversal debits. The payee of a transaction may
/// therefore refund it.
///
/// # Errors
/// Returns:
/// - 403 if no leg is on an account of the caller, or if the reversal debits another user's
///   account;
/// - 404 to an operator if the transaction does not exist (other callers get 403);
/// - 409 if the transaction is a reversal or already reversed, or if an account rejects one of its
///   legs;
/// - 422 if the idempotency key was used with a different request.
pub async fn reverse_transaction(
    ledger: Ledger,
    request: Request<OfTransaction>,
) -> Result<Located<TransactionBody>, Error> {
    let OfTransaction(id) = &request.input;
    let by = user(&request.caller)?;
    let original = ledger.books.transaction_of(id, &request.caller).await?.transaction;
    if original.reverses.is_some() {
        return Err(Error::Conflict(
            Problem::IsReversal,
            "A reversal cannot be reversed. Post a new transaction instead.".to_owned(),
        ));
    }
    let key = request.idempotency_key.clone();
    let named = key.as_ref().map_or("", |key| key.as_str());
    let draft = Draft {
        id: TransactionId::of_request(&by, key.as_ref(), request.milli.instant(), &request.random),
        transaction_type: REVERSAL.parse().map_err(|error| Error::Internal(format!("{error}")))?,
        merchant: original.merchant,
        description: original.description,
        postings: original.postings.iter().rev().map(Posting::reversed).collect(),
        reverses: Some(id.clone()),
        capture: None,
        request: Fingerprint::of(&["reverse-transaction", id.as_str(), by.as_str(), named]),
        by,
        key,
    };
    let posted =
        Box::pin(ledger.books.post(&draft, Payer::Caller(&request.caller), request.milli, &request.random)).await?;
    let location = get_transaction::PATTERN.location(|_| Some(posted.transaction.id.to_string()));
    Ok(Located { location, body: posted.body(&request.caller) })
}
