use crate::model::{
    change::Exported,
    row::fits,
    schema::{Read, TableOf, always, state, tracked, version},
};
use bank::{Execution, Payment, Transaction};
use keys::bank::PaymentSort;
use money::{Currency, Decimal, Payable, Written};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::HashMap;
use table::JsonText;

/// The columns of [`Payment`] or [`Transaction`], an archived payment. `$data` is the presence of
/// the columns of a payment's data, and `$moves` that of its status and attempts. `$own` are the
/// columns of only one of the tables.
macro_rules! columns {
    (
        scheduled_at: $scheduled_at:literal,
        data: $data:ident,
        status: $moves:ident($status:literal),
        failure_reason: $failure_reason:literal,
        $($own:expr,)+
    ) => {
        &[
            always("account_id", Read::Account(|payment| Some(payment.account.clone())), "account of the payment"),
            always("payment_id", Read::Text(|payment| Some(payment.sort.0.to_string())), "the payment"),
            version(),
            always("scheduled_at", Read::Time(|payment| Some(payment.sort.0.time().into())), $scheduled_at),
            always("created_at", Read::Time(|payment| Some(payment.created_at.into())), "time of its creation"),
            $data("amount", Read::Amount(|payment| amount(&payment.data)), AMOUNT),
            $data("currency", Read::Text(|payment| currency(&payment.data)), CURRENCY),
            $data("debit_account_id", Read::Account(|payment| member(&payment.data, "debitAccountId")), DEBITED),
            $data("credit_account_id", Read::Account(|payment| member(&payment.data, "creditAccountId")), CREDITED),
            $data("by_operator", Read::Boolean(|payment| payment.by_operator), "whether an operator scheduled it"),
            always("retry_of", Read::Text(|payment| Some(payment.retry_of?.to_string())), RETRY_OF),
            $moves("status", Read::Text(|payment| Some(payment.due.status.to_string())), $status),
            $moves("attempts", Read::Int(|payment| Some(payment.attempts.into())), "attempts without an outcome"),
            state(
                "transaction_id",
                Read::Text(|payment| Some(payment.transaction_id.as_ref()?.to_string())),
                "transaction of a `PROCESSED` payment",
            ),
            state("dispatched_at", Read::Time(|payment| payment.dispatched_at.map(Into::into)), "time of `PENDING`"),
            state("settled_at", Read::Time(|payment| payment.settled_at.map(Into::into)), "time of the final status"),
            state("failure_reason", Read::Text(|payment| payment.failure_reason.clone()), $failure_reason),
            $($own,)+
            state("changed_by", Read::Person(|payment| Some(payment.changed_by.as_ref()?.sub.clone())), CHANGED_BY),
        ]
    };
}

impl Exported for Payment {
    const TABLE: TableOf<Self> = TableOf {
        changes: "payment_changes",
        items: "payments",
        source: "PaymentScheduler",
        about: "payments that are not archived yet",
        key: &["account_id", "payment_id"],
        ended: None,
        columns: columns! {
            scheduled_at: "time at which it is due",
            data: state,
            status: tracked("`SCHEDULED`, `PENDING`, `PROCESSED`, `FAILED` or `CANCELLED`"),
            failure_reason: "reason for the failure, or for the last attempt without an outcome",
            state(
                "execution",
                Read::Text(|payment| Some(execution(payment.execution?).to_owned())),
                "`due`, `waiting` or `exhausted` while the bank executes the payment",
            ),
            state(
                "next_attempt_at",
                Read::Time(|payment| payment.next_attempt_at.map(Into::into)),
                "time of the next attempt",
            ),
        },
    };

    const IS_NUMBERED: bool = true;

    fn is_key(sort: &str) -> bool {
        sort.parse::<PaymentSort>().is_ok()
    }

    fn version(&self) -> i64 {
        self.version
    }
}

/// An archived payment never changes, so its version is always 1.
impl Exported for Transaction {
    const TABLE: TableOf<Self> = TableOf {
        changes: "archived_payment_changes",
        items: "archived_payments",
        source: "TransactionHistory",
        about: "archived payments",
        key: &["account_id", "payment_id"],
        ended: None,
        columns: columns! {
            scheduled_at: "time at which it was due",
            data: always,
            status: state("`PROCESSED`, `FAILED` or `CANCELLED`"),
            failure_reason: "reason for the failure",
            state("archived_at", Read::Time(|payment| Some(payment.archived_at.into())), "time of the archiving"),
        },
    };

    fn is_key(sort: &str) -> bool {
        sort.parse::<PaymentSort>().is_ok()
    }
}

const AMOUNT: &str = "`amount` of the payment's data; omitted if it is not a valid amount";
const CURRENCY: &str = "`currency` of the payment's data, ISO 4217; omitted if it is not a valid code";
const DEBITED: &str = "`debitAccountId` of the payment's data; omitted for the own account";
const CREDITED: &str = "`creditAccountId` of the payment's data";
const RETRY_OF: &str = "failed payment that this payment repeats";
const CHANGED_BY: &str = "caller who changed the payment last; absent if only the bank did";

/// The data of a payment is JSON without a schema (docs/decisions/payments.md). The columns contain
/// only the members that the ledger also reads. An invalid member is omitted.
fn member<T: DeserializeOwned>(data: &JsonText, name: &str) -> Option<T> {
    let members: HashMap<String, Box<RawValue>> = serde_json::from_str(data.text()).ok()?;
    serde_json::from_str(members.get(name)?.get()).ok()
}

fn amount(data: &JsonText) -> Option<Decimal> {
    member::<Written<Payable>>(data, "amount").map(|amount| amount.0.decimal()).filter(|amount| fits(*amount))
}

fn currency(data: &JsonText) -> Option<String> {
    member::<Written<Currency>>(data, "currency").map(|currency| currency.0.code().to_owned())
}

fn execution(execution: Execution) -> &'static str {
    match execution {
        Execution::Due => "due",
        Execution::Waiting => "waiting",
        Execution::Exhausted => "exhausted",
    }
}
