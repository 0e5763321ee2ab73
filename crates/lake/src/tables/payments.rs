use crate::model::{
    change::Exported,
    row::fits,
    schema::{Read, TableOf, always, state, tracked, version},
};
use bank::{Execution, Payment};
use keys::{AccountId, bank::PaymentSort};
use money::{Currency, Decimal, Payable, Written};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::HashMap;
use table::JsonText;

impl Exported for Payment {
    const TABLE: TableOf<Self> = TableOf {
        changes: "payment_changes",
        items: "payments",
        source: "PaymentScheduler",
        about: "payments that are not archived yet",
        key: &["account_id", "payment_id"],
        ended: None,
        columns: &[
            always("account_id", Read::Account(|payment| Some(payment.account.clone())), "account of the payment"),
            always("payment_id", Read::Text(|payment| Some(payment.id().to_string())), "the payment"),
            version(),
            always("scheduled_at", Read::Time(|payment| Some(payment.id().time().into())), "time at which it is due"),
            always("created_at", Read::Time(|payment| Some(payment.created_at.into())), "time of its creation"),
            state("amount", Read::Amount(|payment| amount(&payment.data)), AMOUNT),
            state("currency", Read::Text(|payment| currency(&payment.data)), CURRENCY),
            state("debit_account_id", Read::Account(|payment| debited(&payment.data)), DEBITED),
            state("credit_account_id", Read::Account(|payment| credited(&payment.data)), CREDITED),
            state("by_operator", Read::Boolean(|payment| payment.by_operator), "whether an operator scheduled it"),
            always(
                "retry_of",
                Read::Text(|payment| payment.retry_of.map(|id| id.to_string())),
                "failed payment that this payment repeats",
            ),
            tracked(
                "status",
                Read::Text(|payment| Some(payment.due.status.to_string())),
                "`SCHEDULED`, `PENDING`, `PROCESSED`, `FAILED` or `CANCELLED`",
            ),
            tracked("attempts", Read::Int(|payment| Some(payment.attempts.into())), "attempts without an outcome"),
            state(
                "transaction_id",
                Read::Text(|payment| payment.transaction_id.as_ref().map(ToString::to_string)),
                "transaction of a `PROCESSED` payment",
            ),
            state("dispatched_at", Read::Time(|payment| payment.dispatched_at.map(Into::into)), "time of `PENDING`"),
            state("settled_at", Read::Time(|payment| payment.settled_at.map(Into::into)), "time of the final status"),
            state(
                "failure_reason",
                Read::Text(|payment| payment.failure_reason.clone()),
                "reason for the failure, or for the last attempt without an outcome",
            ),
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
            state(
                "changed_by",
                Read::Person(|payment| payment.changed_by.as_ref().map(|author| author.sub.clone())),
                CHANGED_BY,
            ),
        ],
    };

    const IS_NUMBERED: bool = true;

    fn is_key(sort: &str) -> bool {
        sort.parse::<PaymentSort>().is_ok()
    }

    fn version(&self) -> i64 {
        self.version
    }

    fn version_of_deletion(&self) -> i64 {
        self.version.saturating_add(1)
    }
}

pub(super) const CHANGED_BY: &str = "caller who changed the payment last; absent if only the bank did";
pub(super) const AMOUNT: &str = "`amount` of the payment's data; omitted if it is not a valid amount";
pub(super) const CURRENCY: &str = "`currency` of the payment's data, ISO 4217; omitted if it is not a valid code";
pub(super) const DEBITED: &str = "`debitAccountId` of the payment's data; omitted for the own account";
pub(super) const CREDITED: &str = "`creditAccountId` of the payment's data";

/// The data of a payment is JSON without a schema (docs/decisions/payments.md). The columns contain
/// only the members that the ledger also reads. An invalid member is omitted.
fn member<T: DeserializeOwned>(data: &JsonText, name: &str) -> Option<T> {
    let members: HashMap<String, Box<RawValue>> = serde_json::from_str(data.text()).ok()?;
    serde_json::from_str(members.get(name)?.get()).ok()
}

pub(super) fn amount(data: &JsonText) -> Option<Decimal> {
    member::<Written<Payable>>(data, "amount").map(|amount| amount.0.decimal()).filter(|amount| fits(*amount))
}

pub(super) fn currency(data: &JsonText) -> Option<String> {
    member::<Written<Currency>>(data, "currency").map(|currency| currency.0.code().to_owned())
}

pub(super) fn debited(data: &JsonText) -> Option<AccountId> {
    member(data, "debitAccountId")
}

pub(super) fn credited(data: &JsonText) -> Option<AccountId> {
    member(data, "creditAccountId")
}

fn execution(execution: Execution) -> &'static str {
    match execution {
        Execution::Due => "due",
        Execution::Waiting => "waiting",
        Execution::Exhausted => "exhausted",
    }
}
