use super::payments::{AMOUNT, CHANGED_BY, CREDITED, CURRENCY, DEBITED, amount, credited, currency, debited};
use crate::model::{
    change::Exported,
    schema::{Read, TableOf, always, state, version},
};
use bank::Transaction;
use keys::bank::PaymentSort;

/// An archived payment never changes, so its version is always 1.
impl Exported for Transaction {
    const TABLE: TableOf<Self> = TableOf {
        changes: "archived_payment_changes",
        items: "archived_payments",
        source: "TransactionHistory",
        about: "archived payments",
        key: &["account_id", "payment_id"],
        ended: None,
        columns: &[
            always("account_id", Read::Account(|payment| Some(payment.account.clone())), "account of the payment"),
            always("payment_id", Read::Text(|payment| Some(payment.sort.0.to_string())), "the payment"),
            version(),
            always(
                "scheduled_at",
                Read::Time(|payment| Some(payment.sort.0.time().into())),
                "time at which it was due",
            ),
            always("created_at", Read::Time(|payment| Some(payment.created_at.into())), "time of its creation"),
            always("amount", Read::Amount(|payment| amount(&payment.data)), AMOUNT),
            always("currency", Read::Text(|payment| currency(&payment.data)), CURRENCY),
            always("debit_account_id", Read::Account(|payment| debited(&payment.data)), DEBITED),
            always("credit_account_id", Read::Account(|payment| credited(&payment.data)), CREDITED),
            always("by_operator", Read::Boolean(|payment| payment.by_operator), "whether an operator scheduled it"),
            always(
                "retry_of",
                Read::Text(|payment| payment.retry_of.map(|id| id.to_string())),
                "failed payment that this payment repeats",
            ),
            state(
                "status",
                Read::Text(|payment| Some(payment.due.status.to_string())),
                "`PROCESSED`, `FAILED` or `CANCELLED`",
            ),
            state("attempts", Read::Int(|payment| Some(payment.attempts.into())), "attempts without an outcome"),
            state(
                "transaction_id",
                Read::Text(|payment| payment.transaction_id.as_ref().map(ToString::to_string)),
                "transaction of a `PROCESSED` payment",
            ),
            state("dispatched_at", Read::Time(|payment| payment.dispatched_at.map(Into::into)), "time of `PENDING`"),
            state("settled_at", Read::Time(|payment| payment.settled_at.map(Into::into)), "time of the final status"),
            state("failure_reason", Read::Text(|payment| payment.failure_reason.clone()), "reason for the failure"),
            state("archived_at", Read::Time(|payment| Some(payment.archived_at.into())), "time of the archiving"),
            state(
                "changed_by",
                Read::Person(|payment| payment.changed_by.as_ref().map(|author| author.sub.clone())),
                CHANGED_BY,
            ),
        ],
    };

    fn is_key(sort: &str) -> bool {
        sort.parse::<PaymentSort>().is_ok()
    }
}
