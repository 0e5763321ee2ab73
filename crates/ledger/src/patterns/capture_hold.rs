//! L10: captures a hold ([requirement](../../../../docs/requirements/ledger.md#holds),
//! [decision](../../../../docs/decisions/ledger-transfers.md)).

use crate::{
    DOMAIN, Ledger,
    cost::{self, Calls, Named, Pattern},
    model::access::user,
    model::refusal::with_rejections,
    model::{
        hold::{CAPTURE, Capture},
        transaction::{Draft, TransactionBody},
    },
    patterns::{create_hold::open_entries, get_transaction},
    post::Payer,
};
use function::{Error, Fingerprint, Input, Located, Problem, Request, Route, Trigger};
use keys::{TransactionId, ledger::HoldId};
use money::{JsonDecimal, Money};
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "L10",
    name: "capture-hold",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/holds/{holdId}/capture",
        scopes: &["ledger:write", "ledger:operate"],
        summary: "Capture a hold in full or in part",
        problems: &with_rejections::<4, 10>([
            Problem::NotFound,
            Problem::HoldClosed,
            Problem::HoldExceeded,
            Problem::IdempotencyKeyReused,
        ]),
    }]),
    calls: &[
        Calls::new("", |case| open_entries(captured(case), case)),
        // The entry in the list of the account's open holds shows what is captured.
        Calls::new(", part", |case| captured(case).write(cost::BY_TIME, write(case.of_hold))),
    ],
    contract: function::contract(&capture_hold),
    function: || function::http(capture_hold, Ledger::warm_by_batch_get),
};

fn captured(case: &Named) -> Cost {
    let reads = read(case.hold) + case.looked_at();
    case.posted(true).read(cost::LEDGER, reads).write(cost::LEDGER, write(case.hold).times(2))
}

/// The hold and the amount to capture.
#[derive(Debug, Clone, Input)]
#[input(idempotency_key)]
pub struct CaptureHoldInput {
    #[input(path = "holdId")]
    hold: HoldId,
    /// The amount to capture. The default is all that remains.
    #[input(body)]
    amount: Option<JsonDecimal>,
}

/// Posts a payment from the account of the hold to the payee: the given amount, or the whole rest.
///
/// # Errors
/// Returns:
/// - 400 for an amount that is not positive or not valid for the currency;
/// - 403 if the caller is neither the payee nor an operator, or if another caller gets 404;
/// - 404 to operators for a hold that does not exist;
/// - 409 if the hold is captured, voided or expired, if less than the amount remains, or if an
///   account rejects its leg;
pub async fn capture_hold(
    ledger: Ledger,
    request: Request<CaptureHoldInput>,
) -> Result<Located<TransactionBody>, Error> {
    let CaptureHoldInput { hold: id, amount } = &request.input;
    let (by, key, now) = (user(&request.caller)?, request.idempotency_key.clone(), request.milli);
    let hold = ledger.books.hold(id, &request.caller).await?;
    request.caller.must_be(&hold.payee, DOMAIN)?;
    let asked = amount.as_ref().map(|amount| Money::new(amount.0, hold.currency)).transpose();
    let asked = asked.map_err(|error| Error::invalid("/body/amount", error))?;
    if asked.is_some_and(|amount| amount.minor() <= 0) {
        return Err(Error::invalid("/body/amount", "must be greater than 0"));
    }
    let text = asked.map(|amount| amount.amount().to_string()).unwrap_or_default();
    let capture = Capture::new(hold, asked)?;
    let internal = |error: &dyn std::fmt::Display| Error::Internal(error.to_string());
    let transaction_type = CAPTURE.parse().map_err(|error| internal(&error))?;
    let description = format!("Hold {id}").parse().map_err(|error| internal(&error))?;
    let fingerprint = Fingerprint::of(&["capture-hold", id.as_str(), &text]);
    let id = TransactionId::of_request(&by, key.as_ref(), now.instant(), &request.random);
    let draft = Draft::new(id, transaction_type, capture.postings(), by, fingerprint);
    let draft = Draft { key, description: Some(description), capture: Some(capture), ..draft };
    let posted = Box::pin(ledger.books.post(&draft, Payer::Caller(&request.caller), now, &request.random)).await?;
    let location = get_transaction::PATTERN.location(|_| Some(posted.transaction.id.to_string()));
    Ok(Located { location, body: posted.body(&request.caller) })
}
