//! Comparison of payments with the transactions that the ledger has posted for them
//! (docs/decisions/close.md).

use crate::{
    Payment, Transaction,
    model::day::{Finding, Kind, Tally, money_of},
    service::LedgerService,
};
use function::Error;
use keys::{
    TimestampSeconds, TransactionId,
    bank::{PaymentId, Status},
};
use ledger::{PostedTransfer, PostedTransfers};
use money::Money;
use table::Key;

/// What the ledger has posted for some payments.
pub(super) struct Postings<'a> {
    read: Option<(&'a LedgerService, PostedTransfers)>,
}

impl<'a> Postings<'a> {
    /// Reads the transactions of the payments. Without a ledger, nothing is compared.
    pub(super) async fn read(
        ledger: Option<&'a LedgerService>,
        payments: impl IntoIterator<Item = PaymentId>,
    ) -> Result<Self, Error> {
        let Some(ledger) = ledger else { return Ok(Self { read: None }) };
        Ok(Self { read: Some((ledger, ledger.posted(payments).await?)) })
    }

    /// Counts the transaction of a settled payment, under the status of the payment.
    pub(super) fn count(&self, payment: PaymentId, status: Status, counted: &mut Tally) {
        let Some((ledger, read)) = &self.read else { return };
        if let Some(posted) = read.posted.get(&ledger.transaction_id_of(payment)) {
            counted.add(status, posted.amount);
        }
    }

    /// Compares a settled payment with its transaction. A `PROCESSED` payment must have one, with
    /// its id and amount. Any other payment must have none.
    pub(super) fn of_settled(&self, payment: &Transaction, status: Status) -> Option<Finding> {
        let expected = (status == Status::Processed).then(|| Side {
            id: payment.transaction_id.as_ref(),
            amount: money_of(&payment.data),
            is_reversed: false,
        });
        self.compare(payment.sort.0, &Key::new(&payment.account, &payment.sort), expected.as_ref(), |_| true)
    }

    /// Compares an open payment, which must have no transaction. A transaction that was posted
    /// after the start of the close is left to the next close, because the payment may be in
    /// execution.
    pub(super) fn of_open(&self, payment: &Payment, started_at: TimestampSeconds) -> Option<Finding> {
        let was_posted = |posted: &PostedTransfer| posted.created_at.instant() < started_at.instant();
        self.compare(payment.id(), &payment.key(), None, was_posted)
    }

    fn compare(
        &self,
        payment: PaymentId,
        key: &Key,
        expected: Option<&Side<'_>>,
        was_posted: impl FnOnce(&PostedTransfer) -> bool,
    ) -> Option<Finding> {
        let (ledger, read) = self.read.as_ref()?;
        let id = ledger.transaction_id_of(payment);
        if let Some(key) = read.unreadable(&id) {
            return Some(Finding::new(Kind::UnreadableItem, &key));
        }
        let posted = read.posted.get(&id).filter(|posted| was_posted(posted));
        let actual =
            posted.map(|posted| Side { id: Some(&id), amount: posted.amount, is_reversed: posted.is_reversed });
        let is_valid = expected.is_none_or(|expected| expected.amount.is_some());
        let differ = expected != actual.as_ref() || !is_valid;
        differ
            .then(|| Finding::differing(Kind::LedgerTransaction, key, described(expected), described(actual.as_ref())))
    }
}

/// A transaction as one of the services describes it.
#[derive(PartialEq, Eq)]
struct Side<'a> {
    id: Option<&'a TransactionId>,
    amount: Option<Money>,
    is_reversed: bool,
}

fn described(side: Option<&Side<'_>>) -> String {
    let Some(Side { id, amount, is_reversed }) = side else { return "no transaction".to_owned() };
    let state = if *is_reversed { "reversed" } else { "completed" };
    let id = id.map(|id| format!(" {id}")).unwrap_or_default();
    let amount = amount.map_or_else(|| "an unknown amount".to_owned(), |amount| amount.to_string());
    format!("{state} transaction{id} of {amount}")
}
