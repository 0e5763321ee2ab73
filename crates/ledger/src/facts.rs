use crate::{
    Hold, Transaction,
    model::reconciliation::{Progress, Task},
};
use ::jobs::{Job, State};
use function::{Error, Record};
use keys::{
    AccountId, TimestampMillis, TransactionId,
    ledger::{HoldId, HoldStatus, MerchantId, ReconciliationId, TransactionType},
};
use money::{Currency, Decimal};
use publisher::Facts;
use schemars::JsonSchema;
use serde::Serialize;
use table::Item;

/// Events of the ledger.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all_fields = "camelCase")]
pub enum Fact {
    /// A transaction was posted. Its legs never change.
    TransactionPosted(TransactionFact),
    /// A transaction was reversed, as a whole or in part, by another transaction.
    TransactionReversed(TransactionFact),
    /// A hold reserved an amount of an account.
    HoldCreated(HoldFact),
    /// The payee captured an amount of a hold.
    HoldCaptured(HoldFact),
    /// The payee released the rest of a hold.
    HoldVoided(HoldFact),
    /// The rest of a hold was released, because the hold had expired.
    HoldExpired(HoldFact),
    /// A reconciliation ended, and the books have discrepancies.
    ReconciliationFoundDiscrepancies {
        /// The reconciliation.
        reconciliation_id: ReconciliationId,
        /// The first time of the checked transactions.
        from: TimestampMillis,
        /// The last time of the checked transactions.
        to: TimestampMillis,
        /// The number of discrepancies.
        discrepancies: u64,
    },
}

/// The transaction of an event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct TransactionFact {
    /// The transaction.
    transaction_id: TransactionId,
    /// The type, such as `payment`.
    transaction_type: TransactionType,
    /// The sum of the debits. Absent if the legs have several currencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Decimal")]
    amount: Option<Decimal>,
    /// The currency of the amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Currency")]
    currency: Option<Currency>,
    /// The merchant that the transaction pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MerchantId")]
    merchant_id: Option<MerchantId>,
    /// The original transaction of a reversal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TransactionId")]
    reverses_id: Option<TransactionId>,
    /// The time of the transaction.
    created_at: TimestampMillis,
}

/// The hold of an event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct HoldFact {
    /// The hold.
    hold_id: HoldId,
    /// The account that reserves the amount.
    debit_account_id: AccountId,
    /// The account that captures credit.
    credit_account_id: AccountId,
    /// The reserved amount.
    amount: Decimal,
    /// The sum of the captures.
    captured: Decimal,
    /// The currency of both accounts.
    currency: Currency,
    /// The time from which the hold is expired.
    expires_at: TimestampMillis,
    /// The version of the hold. It increases with each change.
    version: i64,
}

impl Facts for Fact {
    const SOURCE: &'static str = "ledger";
}

impl Fact {
    /// Returns the fact of a stream record of `FinancialTransactions` or `LedgerJobs`.
    pub(crate) fn of(record: &Record) -> Result<Option<Self>, Error> {
        match record.new_type() {
            Some(Transaction::TYPE) if record.is_insertion() => {
                let transaction = record.new_image::<Transaction>()?;
                let is_reversal = transaction.reverses.is_some();
                let fact = transaction.into();
                Ok(Some(if is_reversal { Self::TransactionReversed(fact) } else { Self::TransactionPosted(fact) }))
            }
            Some(Hold::TYPE) if record.is_insertion() => {
                Ok(Some(Self::HoldCreated(record.new_image::<Hold>()?.into())))
            }
            Some(Hold::TYPE) if record.is_modification() => {
                Ok(Self::of_hold(&record.old_image()?, record.new_image()?))
            }
            Some(Job::TYPE) if record.is_modification() => Self::of_job(&record.old_image()?, &record.new_image()?),
            _ => Ok(None),
        }
    }

    fn of_hold(old: &Hold, hold: Hold) -> Option<Self> {
        match hold.status {
            _ if hold.captured != old.captured => Some(Self::HoldCaptured(hold.into())),
            status if status == old.status => None,
            HoldStatus::Held | HoldStatus::Captured => None,
            HoldStatus::Voided => Some(Self::HoldVoided(hold.into())),
            HoldStatus::Expired => Some(Self::HoldExpired(hold.into())),
        }
    }

    fn of_job(old: &Job, job: &Job) -> Result<Option<Self>, Error> {
        if !old.is_running() || job.state != State::Done {
            return Ok(None);
        }
        let (task, progress) = (job.task::<Task>()?, job.progress::<Progress>()?);
        let Ok(reconciliation_id) = job.id.parse() else { return Ok(None) };
        let (from, to, discrepancies) = (task.window.from, task.window.to, progress.discrepancies);
        let found = Self::ReconciliationFoundDiscrepancies { reconciliation_id, from, to, discrepancies };
        Ok((discrepancies > 0).then_some(found))
    }
}

impl From<Transaction> for TransactionFact {
    fn from(transaction: Transaction) -> Self {
        Self {
            transaction_id: transaction.id,
            transaction_type: transaction.transaction_type,
            amount: transaction.amount,
            currency: transaction.currency,
            merchant_id: transaction.merchant,
            reverses_id: transaction.reverses,
            created_at: transaction.created_at,
        }
    }
}

impl From<Hold> for HoldFact {
    fn from(hold: Hold) -> Self {
        Self {
            hold_id: hold.id,
            debit_account_id: hold.debit,
            credit_account_id: hold.credit,
            amount: hold.amount,
            captured: hold.captured,
            currency: hold.currency,
            expires_at: hold.expires_at,
            version: hold.version,
        }
    }
}
