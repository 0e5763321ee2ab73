use crate::{
    Payment, Task,
    amendment::MovedPayment,
    model::{
        day::{Certificate, money_of},
        import::{Counts, ImportProgress},
    },
};
use ::jobs::{Job, State};
use function::{Error, Record};
use keys::{
    AccountId, Day, TimestampSeconds, TransactionId,
    bank::{ImportId, PaymentId, Status},
};
use money::{Currency, Decimal, Money};
use publisher::Facts;
use schemars::JsonSchema;
use serde::Serialize;
use table::Item;

/// Events of the bank.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all_fields = "camelCase")]
pub enum Fact {
    /// A payment was scheduled: by a request, a file or a standing order, or with a new time.
    PaymentScheduled(PaymentFact),
    /// A scheduled payment got new data, or a new time and therefore a new id.
    PaymentAmended {
        /// The account that owns the payment.
        account_id: AccountId,
        /// The payment. With a new time, this is the new id.
        payment_id: PaymentId,
        /// The id before a new time.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "PaymentId")]
        previous_payment_id: Option<PaymentId>,
        /// The version of the payment, which increases with each change. Absent with a new id.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "i64")]
        version: Option<i64>,
    },
    /// A payment was cancelled before its scheduled time.
    PaymentCancelled(PaymentFact),
    /// A payment was due and was handed over for execution.
    PaymentDispatched(PaymentFact),
    /// A payment was executed.
    PaymentProcessed(PaymentFact),
    /// A payment failed. The payment itself has the reason.
    PaymentFailed(PaymentFact),
    /// A day was closed. A later close of the same day has a higher number.
    DayClosed {
        /// The day in UTC.
        date: Day,
        /// The number of the close.
        number: u16,
        /// The number of settled payments of the day.
        settled: u64,
        /// The number of payments of the day that are still open.
        open: u64,
        /// The number of discrepancies between the bank and the ledger.
        discrepancies: u64,
    },
    /// An import of a file ended.
    ImportFinished {
        /// The import.
        import_id: ImportId,
        /// Whether the import was completed. A failed import can be retried.
        completed: bool,
        /// The number of records that were read.
        read: u64,
        /// The number of payments that were scheduled.
        scheduled: u64,
        /// The number of records that had been scheduled before.
        duplicates: u64,
        /// The number of rejected records.
        rejected: u64,
    },
}

/// The payment of an event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct PaymentFact {
    /// The account that owns the payment.
    account_id: AccountId,
    /// The payment.
    payment_id: PaymentId,
    /// The time at which the payment is due.
    scheduled_time: TimestampSeconds,
    /// The amount. Absent if the data of the payment has no valid amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Decimal")]
    amount: Option<Decimal>,
    /// The currency of the amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Currency")]
    currency: Option<Currency>,
    /// The transaction of a processed payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TransactionId")]
    transaction_id: Option<TransactionId>,
    /// The failed payment that this payment repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PaymentId")]
    retry_of: Option<PaymentId>,
    /// The version of the payment. It increases with each change.
    version: i64,
}

impl Facts for Fact {
    const SOURCE: &'static str = "bank";
}

impl Fact {
    /// Returns the fact of a stream record of `PaymentScheduler` or `BankJobs`.
    pub(crate) fn of(record: &Record) -> Result<Option<Self>, Error> {
        match record.new_type() {
            Some(Payment::TYPE) if record.is_insertion() => {
                let payment = record.new_image::<Payment>()?;
                Ok((payment.due.status == Status::Scheduled).then(|| Self::PaymentScheduled(payment.into())))
            }
            Some(Payment::TYPE) if record.is_modification() => {
                Ok(Self::of_payment(&record.old_image()?, record.new_image()?))
            }
            Some(MovedPayment::TYPE) if record.is_insertion() => {
                let moved = record.new_image::<MovedPayment>()?;
                let (payment_id, previous_payment_id) = (moved.moved_to, Some(moved.sort.0));
                Ok(Some(Self::PaymentAmended {
                    account_id: moved.account,
                    payment_id,
                    previous_payment_id,
                    version: None,
                }))
            }
            Some(Certificate::TYPE) if record.is_insertion() => {
                let Certificate { partition, sort, settled, open, discrepancies, .. } = record.new_image()?;
                let (date, number) = (partition.0, sort.0.number());
                let (settled, open) = (settled.count(), open.values().sum());
                Ok(Some(Self::DayClosed { date, number, settled, open, discrepancies }))
            }
            Some(Job::TYPE) if record.is_modification() => Self::of_job(&record.old_image()?, &record.new_image()?),
            _ => Ok(None),
        }
    }

    fn of_payment(old: &Payment, payment: Payment) -> Option<Self> {
        match payment.due.status {
            status if status != old.due.status => match status {
                Status::Scheduled => None,
                Status::Pending => Some(Self::PaymentDispatched(payment.into())),
                Status::Processed => Some(Self::PaymentProcessed(payment.into())),
                Status::Failed => Some(Self::PaymentFailed(payment.into())),
                Status::Cancelled => Some(Self::PaymentCancelled(payment.into())),
            },
            Status::Scheduled if payment.data != old.data => {
                let (account_id, payment_id) = (payment.account.clone(), payment.id());
                Some(Self::PaymentAmended {
                    account_id,
                    payment_id,
                    previous_payment_id: None,
                    version: Some(payment.version),
                })
            }
            _ => None,
        }
    }

    fn of_job(old: &Job, job: &Job) -> Result<Option<Self>, Error> {
        let has_ended = old.is_running() && !job.is_running();
        match job.task::<Task>()? {
            Task::Import(file) if has_ended => {
                let Counts { read, scheduled, duplicates, rejected, .. } = job.progress::<ImportProgress>()?.counts;
                let (import_id, completed) = (file.import, job.state == State::Done);
                Ok(Some(Self::ImportFinished { import_id, completed, read, scheduled, duplicates, rejected }))
            }
            _ => Ok(None),
        }
    }
}

impl From<Payment> for PaymentFact {
    fn from(payment: Payment) -> Self {
        let money = money_of(&payment.data);
        Self {
            payment_id: payment.id(),
            scheduled_time: payment.sort.0.time(),
            account_id: payment.account,
            amount: money.map(Money::amount),
            currency: money.map(Money::currency),
            transaction_id: payment.transaction_id,
            retry_of: payment.retry_of,
            version: payment.version,
        }
    }
}
