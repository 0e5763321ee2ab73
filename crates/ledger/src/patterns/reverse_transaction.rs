//! L6: reverses a transaction, in whole or in parts
//! ([decision](../../../../docs/decisions/ledger-history.md)). The
//! [requirement](../../../../docs/requirements/ledger.md#where-our-keys-differ) does not name this
//! pattern.

use crate::{
    Ledger, Posting, Transaction,
    cost::{self, Calls, Pattern},
    model::access::user,
    model::refusal::with_rejections,
    model::{
        reversal::Refund,
        transaction::{Draft, REVERSAL, TransactionBody},
    },
    patterns::get_transaction,
    post::Payer,
};
use function::{Contract, Error, Fields, Fingerprint, Input, Located, Problem, Request, Route, Trigger};
use keys::TransactionId;
use money::{JsonDecimal, Money};
use table::cost::{read, write};

pub const PATTERN: Pattern = Pattern {
    id: "L6",
    name: "reverse-transaction",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/transactions/{transactionId}/reversal",
        scopes: &["ledger:write", "ledger:operate"],
        summary: "Reverse a transaction, in whole or in part",
        problems: &with_rejections::<5, 11>([
            Problem::NotFound,
            Problem::AlreadyReversed,
            Problem::ReversalExceeded,
            Problem::IsReversal,
            Problem::IdempotencyKeyReused,
        ]),
    }]),
    calls: &[Calls::new("", |case| {
        let reads = read(case.collection()) + case.looked_at();
        // The marker and its entry, and the entry of each leg among the reversed ones.
        case.posted(false)
            .read(cost::LEDGER, reads)
            .write(cost::LEDGER, 2)
            .write(cost::BY_TIME, 1)
            .write(cost::BY_KEY, write(0).times(case.legs))
    })],
    contract: function::contract(&reverse_transaction),
    function: || function::http(reverse_transaction, Ledger::warm_by_query),
};

/// The transaction to reverse, and the amount. Without an amount, all that remains is reversed.
#[derive(Debug, Clone)]
pub struct ReverseTransactionInput {
    transaction: TransactionId,
    amount: Option<JsonDecimal>,
}

impl Input for ReverseTransactionInput {
    fn read(fields: &mut Fields) -> Option<Self> {
        let amount = fields.body_if_any("amount");
        if amount.is_some() {
            // Without a key, a retry would reverse the amount again.
            fields.needs_header("idempotency-key");
        }
        Some(Self { transaction: fields.path("transactionId")?, amount })
    }

    fn describe(contract: &mut Contract) {
        contract.path::<TransactionId>("transactionId", "");
        contract.name_body("NewReversal");
        let amount = "The amount to reverse, for a transaction with two legs. It requires an `Idempotency-Key`. The default is all \
            that remains.";
        contract.body::<JsonDecimal>("amount", amount, false);
    }
}

/// Returns the requested amount, which must be positive and valid for the transaction's currency.
fn read_amount(amount: &JsonDecimal, original: &Transaction) -> Result<Money, Error> {
    let currency = original
        .currency
        .ok_or_else(|| Error::invalid("/body/amount", "is only allowed for a transaction with two legs"))?;
    let amount = Money::new(amount.0, currency).map_err(|error| Error::invalid("/body/amount", error))?;
    if amount.minor() > 0 { Ok(amount) } else { Err(Error::invalid("/body/amount", "must be greater than 0")) }
}

/// Reverses a transaction with a new transaction that has the opposite legs. A transaction with two
/// legs can be reversed in several parts, up to its amount.
///
/// The caller needs access to the accounts that the reversal debits. The payee of a transaction may
/// therefore refund it.
///
/// # Errors
/// Returns:
/// - 400 for an amount that is not valid, or without an idempotency key;
/// - 403 if no leg is on an account of the caller, or if the reversal debits another user's
///   account;
/// - 404 to an operator if the transaction does not exist (other callers get 403);
/// - 409 if the transaction is a reversal or already reversed, if less than the amount remains, or
///   if an account rejects one of its legs;
pub async fn reverse_transaction(
    ledger: Ledger,
    request: Request<ReverseTransactionInput>,
) -> Result<Located<TransactionBody>, Error> {
    let ReverseTransactionInput { transaction: id, amount } = &request.input;
    let by = user(&request.caller)?;
    let original = ledger.books.transaction_of(id, &request.caller).await?;
    let header = &original.transaction;
    if header.reverses.is_some() {
        return Err(Error::Conflict(
            Problem::IsReversal,
            "A reversal cannot be reversed. Post a new transaction instead.".to_owned(),
        ));
    }
    let asked = amount.as_ref().map(|amount| read_amount(amount, header)).transpose()?;
    let text = asked.map(|amount| amount.amount().to_string()).unwrap_or_default();
    let key = request.idempotency_key.clone();
    let named = key.as_ref().map_or("", |key| key.as_str());
    let transaction_type = REVERSAL.parse().map_err(|error| Error::Internal(format!("{error}")))?;
    let postings = header.postings.iter().rev().map(Posting::reversed).collect();
    let fingerprint = Fingerprint::of(&["reverse-transaction", id.as_str(), by.as_str(), named, &text]);
    let id = TransactionId::of_request(&by, key.as_ref(), request.milli.instant(), &request.random);
    let draft = Draft::new(id, transaction_type, postings, by, fingerprint);
    let (merchant, description) = (header.merchant.clone(), header.description.clone());
    let draft = Draft { key, merchant, description, reverses: Some(Refund { original, asked }), ..draft };
    let posted =
        Box::pin(ledger.books.post(&draft, Payer::Caller(&request.caller), request.milli, &request.random)).await?;
    let location = get_transaction::PATTERN.location(|_| Some(posted.transaction.id.to_string()));
    Ok(Located { location, body: posted.body(&request.caller) })
}
