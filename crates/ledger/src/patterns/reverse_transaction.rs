//! L6: undoes a transaction by another that does the contrary, once.

use crate::{
    Ledger, Posting,
    cost::{Calls, Pattern},
    model::transaction::{Draft, TransactionBody},
    patterns::get_transaction,
    store::{missing, user},
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
        condition: "PK = TXN#<id>, strongly; then as L3, every debit a credit, with a put if absent of PK = TXN#<id>, SK = REVERSAL in the same transaction",
        formula: "⌈header and legs⌉ R, and as L3, and 1 R and 2 W for what says that it is reversed; GSI2 1 W with an Idempotency-Key",
        cost: |case| {
            let reads = case.collection() + case.looked_at() + Units::whole(1);
            case.posted(false).read(crate::cost::LEDGER, reads).write(crate::cost::LEDGER, Units::whole(2))
        },
    }],
    function,
};

/// The type of what undoes another transaction. Nobody else may call one so.
pub(crate) const REVERSAL: &str = "reversal";

/// Which transaction.
#[derive(Debug, Clone)]
pub struct OfTransaction(pub(crate) TransactionId);

impl Input for OfTransaction {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.path("transactionId").map(Self)
    }
}

/// Reverses a transaction. Who may take from the accounts that it gave to may give it back.
///
/// # Errors
/// 403 for others' transactions and for a debit of another's account, 404, 409 for what was reversed before, is a reversal
/// itself, or is not allowed by an account now, 422 for a key that came with another request.
pub async fn reverse_transaction(
    ledger: Ledger,
    request: Request<OfTransaction>,
) -> Result<Located<TransactionBody>, Error> {
    let OfTransaction(id) = &request.input;
    let by = user(&request.caller)?;
    let original = ledger.transaction(id).await?.ok_or_else(|| missing("transaction", &request.caller))?;
    if !original.concerns(&request.caller) {
        return Err(Error::Forbidden);
    }
    let original = original.transaction;
    if original.reverses.is_some() {
        return Err(Error::Conflict(
            Problem::IsReversal,
            "A reversal is not reversed: post the transaction anew.".to_owned(),
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
        request: Fingerprint::of(&["reverse-transaction", id.as_str(), by.as_str(), named]),
        by,
        key,
    };
    let posted = Box::pin(ledger.post(&draft, &request.caller, request.milli, &request.random)).await?;
    let location = get_transaction::PATTERN.location(|_| Some(posted.transaction.id.to_string()));
    Ok(Located { location, body: posted.body(&request.caller) })
}
