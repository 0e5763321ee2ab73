use crate::{
    Account, DOMAIN, Posting,
    model::access::{IdempotentItem, missing},
};
use function::{Caller, Error, Fingerprint, Problem};
use keys::{
    AccountId, Shard, TimestampMillis,
    ledger::{
        AccountPartition, ExpiryPartition, HoldExpirySort, HoldId, HoldPartition, HoldStatus, LegType, Metadata, UserId,
    },
};
use money::{Currency, Decimal, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Attribute, Attributes, Change, Condition, Item, Key, Table, Value};

/// The transaction type of captures.
pub(crate) const CAPTURE: &str = "capture";

/// An amount that is reserved on the payer's account until the payee captures or voids it
/// ([requirement](../../../../docs/requirements/ledger.md#holds),
/// [decision](../../../../docs/decisions/ledger-transfers.md)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Hold {
    #[serde(rename = "PK")]
    partition: HoldPartition,
    #[serde(rename = "SK")]
    sort: Metadata,
    /// The index keys exist only while the hold is open.
    #[serde(rename = "GSI1PK", skip_serializing_if = "Option::is_none")]
    of_account: Option<AccountPartition>,
    #[serde(rename = "GSI1SK", skip_serializing_if = "Option::is_none")]
    by_account: Option<HoldExpirySort>,
    #[serde(rename = "GSI2PK", skip_serializing_if = "Option::is_none")]
    of_shard: Option<ExpiryPartition>,
    #[serde(rename = "GSI2SK", skip_serializing_if = "Option::is_none")]
    by_expiry: Option<HoldExpirySort>,
    /// The hold id.
    #[serde(rename = "ID")]
    pub id: HoldId,
    /// The account that reserves the amount.
    #[serde(rename = "DebitAccountID")]
    pub debit: AccountId,
    /// The account that captures credit.
    #[serde(rename = "CreditAccountID")]
    pub credit: AccountId,
    /// The owner of the debited account.
    #[serde(rename = "PayerID")]
    pub payer: UserId,
    /// The owner of the credited account.
    #[serde(rename = "PayeeID")]
    pub payee: UserId,
    /// The reserved amount.
    pub amount: Decimal,
    /// The sum of the captures.
    pub captured: Decimal,
    /// The currency of both accounts.
    pub currency: Currency,
    /// The status. An expired hold has the status `held` until it is released.
    pub status: HoldStatus,
    /// The time from which the hold is expired.
    pub expires_at: TimestampMillis,
    /// Version number, incremented by each change.
    pub version: i64,
    /// The time of the request that created the hold.
    pub created_at: TimestampMillis,
    /// Fingerprint of the request that created the hold.
    pub request: Fingerprint,
    /// Fingerprint of the request that voided the hold, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voided_by: Option<Fingerprint>,
}

impl Item for Hold {
    const TYPE: &'static str = "Hold";
    const NUMBERS: &'static [Attribute] = &[Self::AMOUNT, Self::CAPTURED];
}

impl IdempotentItem for Hold {
    fn request(&self) -> &Fingerprint {
        &self.request
    }
}

/// An open hold's entry in an index. Only the partition key is deserialized.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OpenHold {
    #[serde(rename = "PK")]
    pub(crate) partition: HoldPartition,
}

impl Item for OpenHold {
    const TYPE: &'static str = "Hold";
}

/// What a list of open holds shows, from the hold's entry in GSI1.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ListedHold {
    #[serde(rename = "GSI1PK")]
    of_account: AccountPartition,
    #[serde(rename = "GSI1SK")]
    by_account: HoldExpirySort,
    #[serde(rename = "CreditAccountID")]
    credit: AccountId,
    amount: Decimal,
    captured: Decimal,
    currency: Currency,
    created_at: TimestampMillis,
}

impl Item for ListedHold {
    const TYPE: &'static str = Hold::TYPE;
    const NUMBERS: &'static [Attribute] = Hold::NUMBERS;
}

impl ListedHold {
    /// Whether the hold is not expired at `now`.
    pub(crate) fn is_open_at(&self, now: TimestampMillis) -> bool {
        now < self.by_account.expires
    }
}

/// The requested properties of a new hold.
#[derive(Debug, Clone)]
pub(crate) struct HoldTerms {
    pub(crate) id: HoldId,
    pub(crate) debit: AccountId,
    pub(crate) credit: AccountId,
    pub(crate) amount: Money,
    pub(crate) expires_at: TimestampMillis,
    pub(crate) request: Fingerprint,
}

impl HoldTerms {
    /// The postings of a capture of the whole amount.
    pub(crate) fn postings(&self) -> Vec<Posting> {
        postings(&self.debit, &self.credit, self.amount)
    }
}

fn postings(debit: &AccountId, credit: &AccountId, amount: Money) -> Vec<Posting> {
    let posting = |leg_type, account: &AccountId| Posting { leg_type, amount, account: account.clone() };
    vec![posting(LegType::Debit, debit), posting(LegType::Credit, credit)]
}

fn uncaptured(id: &HoldId, amount: Decimal, captured: Decimal, currency: Currency) -> Result<Money, Error> {
    let [amount, captured] = [amount, captured].map(|amount| Money::new(amount, currency).ok());
    let rest = amount.zip(captured).and_then(|(amount, captured)| amount.checked_add(-captured));
    let unreadable = || table::Error::unreadable_part(Hold::TYPE, Hold::key_of(id), &"an invalid amount");
    rest.filter(|rest| rest.minor() >= 0).ok_or_else(|| unreadable().into())
}

impl Hold {
    /// Creates an open hold. The accounts must be those of the terms.
    pub(crate) fn opened(
        terms: &HoldTerms,
        debited: &Account,
        credited: &Account,
        now: TimestampMillis,
        shard: Shard,
    ) -> Self {
        let HoldTerms { id, debit, credit, amount, expires_at, request } = terms.clone();
        let expiry = HoldExpirySort { expires: expires_at, hold: id.clone() };
        Self {
            partition: HoldPartition(id.clone()),
            sort: Metadata,
            of_account: Some(AccountPartition(debit.clone())),
            by_account: Some(expiry.clone()),
            of_shard: Some(ExpiryPartition(shard)),
            by_expiry: Some(expiry),
            id,
            debit,
            credit,
            payer: debited.user.clone(),
            payee: credited.user.clone(),
            amount: amount.amount(),
            captured: Money::zero(amount.currency()).amount(),
            currency: amount.currency(),
            status: HoldStatus::Held,
            expires_at,
            version: 1,
            created_at: now,
            request,
            voided_by: None,
        }
    }

    /// Returns the hold in its initial state, the response to a retry of the request that created
    /// it.
    pub(crate) fn when_opened(self) -> Self {
        Self { captured: Money::zero(self.currency).amount(), status: HoldStatus::Held, ..self }
    }

    /// The primary key.
    pub(crate) fn key_of(id: &HoldId) -> Key {
        Key::new(&HoldPartition(id.clone()), &Metadata)
    }

    /// Whether the hold is stored as open. It may have expired.
    pub(crate) fn is_open(&self) -> bool {
        self.status == HoldStatus::Held
    }

    /// Returns the status at `now`.
    pub(crate) fn status_at(&self, now: TimestampMillis) -> HoldStatus {
        if self.is_open() && self.expires_at <= now { HoldStatus::Expired } else { self.status }
    }

    /// Returns the amount that is not captured, which an open hold reserves.
    ///
    /// # Errors
    /// A stored amount is invalid. It counts as an unreadable item.
    pub(crate) fn uncaptured(&self) -> Result<Money, Error> {
        uncaptured(&self.id, self.amount, self.captured, self.currency)
    }

    /// Checks that the caller may read the hold: the payer, the payee and operators may.
    ///
    /// # Errors
    /// Returns 403 for any other caller.
    pub(crate) fn must_concern(&self, caller: &Caller) -> Result<(), Error> {
        caller.must_be(&self.payer, DOMAIN).or_else(|_| caller.must_be(&self.payee, DOMAIN))
    }

    /// Checks that the hold is open at `now`.
    ///
    /// # Errors
    /// Returns 409 if the hold is captured, voided or expired.
    pub(crate) fn must_be_open(&self, now: TimestampMillis) -> Result<(), Error> {
        match self.status_at(now) {
            HoldStatus::Held => Ok(()),
            closed => Err(Error::Conflict(Problem::HoldClosed, format!("The hold is {closed}."))),
        }
    }

    /// Creates an update that increments the version. The update fails if the stored version has
    /// changed.
    fn next(&self, table: &Table) -> Change {
        let next = table.update(Self::key_of(&self.id)).set(Self::VERSION, self.version + 1);
        next.only_if(Condition::is(Self::VERSION, self.version))
    }

    /// Creates an update that closes the hold, and removes it from the indexes.
    pub(crate) fn closed(&self, table: &Table, status: HoldStatus) -> Change {
        let closed = self.next(table).set(Self::STATUS, &status);
        let closed = closed.remove(Self::OF_ACCOUNT).remove(Self::BY_ACCOUNT);
        closed.remove(Self::OF_SHARD).remove(Self::BY_EXPIRY)
    }

    /// Creates an update that voids the hold.
    pub(crate) fn voided(&self, table: &Table, request: &Fingerprint) -> Change {
        self.closed(table, HoldStatus::Voided).set(Self::VOIDED_BY, request)
    }
}

/// A capture of a hold, and the hold as read before the capture.
#[derive(Debug, Clone)]
pub(crate) struct Capture {
    pub(crate) hold: Hold,
    /// The requested amount. `None` means all that remains.
    pub(crate) asked: Option<Money>,
    pub(crate) amount: Money,
}

impl Capture {
    /// # Errors
    /// A stored amount is invalid.
    pub(crate) fn new(hold: Hold, asked: Option<Money>) -> Result<Self, Error> {
        let amount = asked.map_or_else(|| hold.uncaptured(), Ok)?;
        Ok(Self { hold, asked, amount })
    }

    pub(crate) fn postings(&self) -> Vec<Posting> {
        postings(&self.hold.debit, &self.hold.credit, self.amount)
    }

    /// Checks that the hold allows the capture at `now`.
    ///
    /// # Errors
    /// Returns 409 if the hold is not open, or if less than the amount remains.
    pub(crate) fn must_be_allowed(&self, now: TimestampMillis) -> Result<(), Error> {
        self.hold.must_be_open(now)?;
        let rest = self.hold.uncaptured()?;
        if self.amount.minor() <= rest.minor() {
            return Ok(());
        }
        Err(Error::Conflict(Problem::HoldExceeded, format!("Only {rest} of the hold remain.")))
    }

    /// Creates the update of the hold. A capture of the whole rest closes it.
    ///
    /// # Errors
    /// A stored amount is invalid.
    pub(crate) fn change(&self, table: &Table) -> Result<Change, Error> {
        let rest = self.hold.uncaptured()?;
        let is_last = self.amount.minor() == rest.minor();
        let next = if is_last { self.hold.closed(table, HoldStatus::Captured) } else { self.hold.next(table) };
        let whole = Money::new(self.hold.amount, self.hold.currency).ok();
        let captured = whole.and_then(|whole| whole.checked_add(-rest)?.checked_add(self.amount));
        let captured = captured.ok_or_else(|| Error::Internal("a capture is too large".to_owned()))?;
        Ok(next.set(Hold::CAPTURED, Value::number(&captured.amount())))
    }
}

/// The error for a missing hold.
pub(crate) fn no_hold(caller: &Caller) -> Error {
    missing("hold", caller)
}

/// A hold.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldBody {
    hold_id: HoldId,
    debit_account_id: AccountId,
    credit_account_id: AccountId,
    status: HoldStatus,
    amount: Decimal,
    captured: Decimal,
    /// The amount that can still be captured.
    remaining: Decimal,
    currency: Currency,
    expires_at: TimestampMillis,
    created_at: TimestampMillis,
}

impl HoldBody {
    /// # Errors
    /// A stored amount is invalid.
    pub(crate) fn of(hold: Hold, now: TimestampMillis) -> Result<Self, Error> {
        let (rest, status) = (hold.uncaptured()?, hold.status_at(now));
        let whole = |amount| Money::new(amount, hold.currency).map_or(amount, Money::amount);
        let remaining = if status == HoldStatus::Held { rest } else { Money::zero(hold.currency) };
        Ok(Self {
            status,
            amount: whole(hold.amount),
            captured: whole(hold.captured),
            remaining: remaining.amount(),
            hold_id: hold.id,
            debit_account_id: hold.debit,
            credit_account_id: hold.credit,
            currency: hold.currency,
            expires_at: hold.expires_at,
            created_at: hold.created_at,
        })
    }

    /// Creates the body of an open hold in a list.
    ///
    /// # Errors
    /// A stored amount is invalid.
    pub(crate) fn of_listed(hold: ListedHold) -> Result<Self, Error> {
        let (HoldExpirySort { expires, hold: id }, currency) = (hold.by_account, hold.currency);
        let remaining = uncaptured(&id, hold.amount, hold.captured, currency)?;
        let whole = |amount| Money::new(amount, currency).map_or(amount, Money::amount);
        Ok(Self {
            status: HoldStatus::Held,
            amount: whole(hold.amount),
            captured: whole(hold.captured),
            remaining: remaining.amount(),
            hold_id: id,
            debit_account_id: hold.of_account.0,
            credit_account_id: hold.credit,
            currency,
            expires_at: expires,
            created_at: hold.created_at,
        })
    }
}
