//! L10: reserves an amount ([requirement](../../../../docs/requirements/ledger.md#holds),
//! [decision](../../../../docs/decisions/ledger-transfers.md)).

use crate::{
    HoldBody, Ledger,
    cost::{self, Calls, Named, Pattern},
    model::access::user,
    model::refusal::with_rejections,
    model::{
        hold::{CAPTURE, HoldTerms},
        transaction::Draft,
    },
    patterns::process_payment::read_amount,
};
use function::{Contract, Created, Error, Fields, Fingerprint, Input, Problem, Request, Route, Trigger};
use keys::{AccountId, TimestampMillis, TransactionId, ledger::HoldId};
use money::Currency;
use money::JsonDecimal;
use money::Money;
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "L10",
    name: "create-hold",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/holds",
        scopes: &["ledger:write", "ledger:operate"],
        summary: "Reserve an amount on an account",
        problems: &with_rejections::<2, 8>([Problem::NotFound, Problem::IdempotencyKeyReused]),
    }]),
    calls: &[Calls::new("", |case| {
        let writes = (write(case.hold) + write(case.account)).times(2);
        open_entries(Cost::default(), case).read(cost::LEDGER, read(case.account).times(2)).write(cost::LEDGER, writes)
    })],
    contract: function::contract(&create_hold),
    function: || function::http(create_hold, Ledger::warm_by_batch_get),
};

/// Adds the WRUs consumed by writing or deleting the index entries of an open hold.
pub(crate) fn open_entries(cost: Cost, case: &Named) -> Cost {
    cost.write(cost::BY_TIME, write(case.of_hold)).write(cost::BY_KEY, 1)
}

/// Days until a hold expires, if the request has no `expiresAt`.
const DEFAULT_DAYS: i64 = 7;
/// Maximum number of days until a hold expires.
const MAX_DAYS: i64 = 366;

/// The request body.
#[derive(Debug, Clone)]
pub struct CreateHoldInput {
    debit: AccountId,
    credit: AccountId,
    amount: Money,
    expires_at: Option<TimestampMillis>,
}

impl Input for CreateHoldInput {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        fields.needs_header("idempotency-key");
        let (debit, credit) = (fields.body::<AccountId>("debitAccountId"), fields.body("creditAccountId"));
        let (amount, currency) = (fields.body("amount"), fields.body("currency"));
        let expires_at = fields.body_if_any("expiresAt");
        let amount = amount.zip(currency).and_then(|(amount, currency)| read_amount(fields, "/body", amount, currency));
        if debit.is_some() && debit == credit {
            fields.fault::<()>("/body/creditAccountId", "must be a different account from debitAccountId");
        }
        Some(Self { debit: debit?, credit: credit?, amount: amount?, expires_at })
    }

    fn describe(contract: &mut Contract) {
        contract.idempotency_key(true);
        contract.name_body("NewHold");
        contract.body::<AccountId>("debitAccountId", "", true);
        contract.body::<AccountId>("creditAccountId", "", true);
        contract.body::<JsonDecimal>("amount", "", true);
        contract.body::<Currency>("currency", "", true);
        let expiry = "The time from which the hold cannot be captured, at most 366 days away. The default is 7 days.";
        contract.body::<TimestampMillis>("expiresAt", expiry, false);
    }
}

impl CreateHoldInput {
    fn fingerprint(&self) -> Fingerprint {
        let (amount, currency) = (self.amount.amount().to_string(), self.amount.currency());
        let expires_at = self.expires_at.map(|time| time.to_string()).unwrap_or_default();
        let (debit, credit) = (self.debit.as_str(), self.credit.as_str());
        Fingerprint::of(&["create-hold", debit, credit, &amount, currency.code(), &expires_at])
    }
}

/// Reserves an amount on the payer's account. Every debit of the account must leave the reserved
/// amount. A hold expires after seven days, unless the request has another time.
///
/// # Errors
/// Returns the errors of a payment between the two accounts, because a hold must satisfy the same
/// rules. Returns 400 if `expiresAt` is not in the future, or more than 366 days away.
pub async fn create_hold(ledger: Ledger, request: Request<CreateHoldInput>) -> Result<Created<HoldBody>, Error> {
    let (by, now, key) = (user(&request.caller)?, request.milli, request.idempotency_key.as_ref());
    let asked = request.input.fingerprint();
    let CreateHoldInput { debit, credit, amount, expires_at } = request.input;
    let expires_at = expires_at.unwrap_or_else(|| now.plus_days(DEFAULT_DAYS));
    if expires_at > now.plus_days(MAX_DAYS) {
        return Err(Error::invalid("/body/expiresAt", format!("must be at most {MAX_DAYS} days away")));
    }
    let id = HoldId::of_request(&by, key, now.instant(), &request.random);
    let terms = HoldTerms { id, debit, credit, amount, expires_at, request: asked.clone() };
    let transaction = TransactionId::of_request(&by, key, now.instant(), &request.random);
    let transaction_type = CAPTURE.parse().map_err(|error| Error::Internal(format!("{error}")))?;
    let whole = Draft::new(transaction, transaction_type, terms.postings(), by, asked);
    let hold = Box::pin(ledger.books.reserve(&terms, &whole, &request.caller, now, &request.random)).await?;
    Ok(Created { id: hold.id.to_string(), body: HoldBody::of(hold.clone(), hold.created_at)? })
}
