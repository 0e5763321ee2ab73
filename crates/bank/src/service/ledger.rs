//! The adapter of the ledger service: a payment is a transfer in the ledger.

use super::{Order, Outcome, TransactionService};
use crate::Payment;
use ::ledger::{PostedTransfers, Rejection, Transfer, TransferOutcome, Transfers};
use function::{Clients, Error, SettingsReader};
use keys::{AccountId, TransactionId, bank::PaymentId, ledger::TransactionType};
use money::{Money, Unpayable, payable};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{collections::BTreeSet, time::Duration};
use table::JsonText;

/// The transaction type of a payment in the ledger.
const PAYMENT: &str = "payment";

/// The member of `data` with the account to credit.
const CREDIT: &str = "creditAccountId";

/// Part of the invocation's time in which a transfer is not repeated after a conflict. It is longer
/// than the time that the executor reserves to write the outcome.
const RESERVE: Duration = Duration::from_secs(7);

/// Pays with the ledger.
#[derive(Debug, Clone)]
pub struct LedgerService {
    transfers: Transfers,
    transaction_type: TransactionType,
}

/// The members of `data` that the ledger reads. The columns of an imported file may differ in their
/// case.
pub(crate) const MEMBERS: [&str; 4] = [CREDIT, "amount", "currency", "debitAccountId"];

/// The accounts in the `data` of a payment. `data` may have other members.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accounts {
    credit_account_id: Option<Box<RawValue>>,
    debit_account_id: Option<Box<RawValue>>,
}

/// The payment that `data` describes.
struct Instruction {
    amount: Money,
    /// Absent if `data` does not say where to pay.
    credit: Option<AccountId>,
    debit: Option<AccountId>,
}

impl Instruction {
    fn read(data: &JsonText) -> Result<Self, Unpayable> {
        let amount = payable(data.text())?;
        let Accounts { credit_account_id: credit, debit_account_id: debit } = accounts(data)?;
        let credit = account(CREDIT, credit.as_deref())?;
        Ok(Self { amount, credit, debit: account("debitAccountId", debit.as_deref())? })
    }
}

fn accounts(data: &JsonText) -> Result<Accounts, Unpayable> {
    // A derived deserializer would also accept an array.
    let read = if data.is_object() { serde_json::from_str(data.text()) } else { Ok(Accounts::default()) };
    read.map_err(|_| Unpayable::new(CREDIT, "and debitAccountId must each occur once"))
}

fn account(member: &'static str, value: Option<&RawValue>) -> Result<Option<AccountId>, Unpayable> {
    let Some(value) = value else { return Ok(None) };
    let text: String =
        serde_json::from_str(value.get()).map_err(|_| Unpayable::new(member, "must be the id of an account"))?;
    text.parse().map(Some).map_err(|error| Unpayable::new(member, error))
}

/// Whether `data` names an account to credit, and is therefore an instruction to the ledger.
pub(super) fn is_instruction(payment: &Payment) -> bool {
    accounts(&payment.data).is_ok_and(|accounts| accounts.credit_account_id.is_some())
}

/// Checks what does not change until the day of the payment. Accounts and balances may change.
pub(super) fn check(payment: &Payment) -> Result<(), Error> {
    let read = Instruction::read(&payment.data).and_then(|Instruction { credit, debit, .. }| {
        let is_same = credit.as_ref() == Some(debit.as_ref().unwrap_or(&payment.account));
        if is_same { Err(Unpayable::new(CREDIT, "must not be the account to debit")) } else { Ok(()) }
    });
    read.map_err(|Unpayable { member, reason }| Error::invalid(&format!("/body/data/{member}"), reason))
}

impl LedgerService {
    /// Reads the settings of [`Transfers::start`].
    pub fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let transfers = Transfers::start(settings, clients, crate::DOMAIN);
        let transaction_type = PAYMENT.parse().ok();
        Some(Self { transfers: transfers?, transaction_type: transaction_type? })
    }

    /// Opens the connection before the first event. Errors are ignored.
    pub async fn warm_up(&self) {
        self.transfers.warm_up().await;
    }

    /// The id of the transaction that pays a payment.
    pub fn transaction_id_of(&self, payment: PaymentId) -> TransactionId {
        self.transfers.transaction_id_of(&payment.into())
    }

    /// Reads what the ledger has posted for the payments.
    pub(crate) async fn posted(&self, payments: impl IntoIterator<Item = PaymentId>) -> Result<PostedTransfers, Error> {
        let ids: Vec<TransactionId> = payments.into_iter().map(|payment| self.transaction_id_of(payment)).collect();
        self.transfers.posted(&ids).await
    }
}

/// Returns the transfer of a payment, or the reason why there is none.
///
/// The payment's account is debited. Only a payment that an operator scheduled can name another
/// account to debit, because a customer controls `data` and could name any account.
fn transfer(payment: &Payment, by_operator: bool, transaction_type: TransactionType) -> Result<Transfer, String> {
    let unclear = |why: String| format!("data does not say what to pay: {why}");
    if !payment.data.is_object() {
        return Err(unclear("it is not an object".to_owned()));
    }
    let Instruction { amount, credit, debit } =
        Instruction::read(&payment.data).map_err(|error| unclear(error.to_string()))?;
    let credit = credit.ok_or_else(|| unclear(format!("{CREDIT} is missing")))?;
    let debit = debit.unwrap_or_else(|| payment.account.clone());
    if debit != payment.account && !by_operator {
        return Err("debitAccountId names another account, which requires bank:operate.".to_owned());
    }
    let key = payment.id().into();
    Ok(Transfer { key, debit, credit, amount, transaction_type })
}

impl TransactionService for LedgerService {
    async fn execute(&self, order: &Order<'_>) -> Outcome {
        let transfer = match transfer(order.payment, order.by_operator, self.transaction_type.clone()) {
            Ok(transfer) => transfer,
            Err(reason) => return Outcome::rejected(&reason),
        };
        let is_own = transfer.debit == order.payment.account;
        let posting = self.transfers.transfer(transfer, order.now, order.random);
        let posting = table::with_reserved_time(RESERVE, posting);
        match order.until.bound(posting).await {
            Some(TransferOutcome::Completed(id)) => Outcome::Completed(id),
            Some(TransferOutcome::Rejected(reason)) => Outcome::rejected(&disclosed(reason, is_own)),
            Some(TransferOutcome::Contended) => Outcome::Contended,
            Some(TransferOutcome::Unavailable(error)) => {
                tracing::warn!(%error, "the ledger is not available");
                Outcome::unavailable("The ledger did not answer. The payment may or may not be posted.")
            }
            None => Outcome::unavailable("The ledger did not answer in time. The payment may or may not be posted."),
        }
    }

    fn accounts(&self, payment: &Payment) -> BTreeSet<AccountId> {
        let transfer = transfer(payment, payment.by_operator, self.transaction_type.clone());
        let changed = transfer.into_iter().flat_map(|transfer| [transfer.debit, transfer.credit]);
        changed.chain([payment.account.clone()]).collect()
    }
}

/// Returns the text of a rejection. The account's owner can read it, so it discloses nothing about
/// an account of someone else.
fn disclosed(reason: Rejection, is_own: bool) -> String {
    match reason {
        Rejection::SameAccount | Rejection::NotPositive => reason.to_string(),
        _ if is_own => reason.to_string(),
        _ => "An account of the payment is not available for it.".to_owned(),
    }
}
