use crate::{Leg, Transaction, model::accounts_progress::AccountsProgress};
use function::{Error, Fingerprint};
use jobs::{Job, State};
use keys::{
    AccountId, TimestampMillis, TransactionId,
    ledger::{CreatedPlace, FindingSort, LegId, Metadata, ReconciliationId, ReconciliationPartition, Subject},
};
use money::Decimal;
use serde::{Deserialize, Serialize};
use table::{Item, Key};

/// How long a transaction may take to be on the books, in seconds: its time is API Gateway's of the request. Ten to start the
/// function and ten to run it, and the rest for clocks that differ and for the indexes.
const SETTLES: i64 = 30;

/// Which transactions are gone through: both ends are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Window {
    /// From then on.
    pub from: TimestampMillis,
    /// Until then. Before `from` there is nothing to go through.
    pub to: TimestampMillis,
}

impl Window {
    /// Without the youngest moments, in which transactions are still on their way.
    pub(crate) fn settled(self, now: TimestampMillis) -> Self {
        Self { to: self.to.min(now.minus_seconds(SETTLES)), ..self }
    }
}

/// The work of a reconciliation, and the request that started it: the same request finds the job that it started before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Task {
    /// Without the youngest moments of what was asked.
    #[serde(flatten)]
    pub(crate) window: Window,
    pub(crate) request: Fingerprint,
}

impl jobs::Task for Task {
    fn kind(&self) -> &'static str {
        "reconciliation"
    }
}

/// How far a reconciliation is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Progress {
    /// Transactions that it has gone through.
    pub(crate) transactions: u64,
    /// Accounts that it has looked at.
    pub(crate) accounts: u64,
    /// What it has found; no more than [`MAX_KEPT`] of it is kept.
    pub(crate) discrepancies: u64,
    /// Where it is.
    pub(crate) phase: Phase,
}

/// Where a reconciliation is: first among the transactions, then among the accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// Behind that transaction, or before the first.
    Transactions(Option<CreatedPlace>),
    Accounts(AccountsProgress),
}

impl Default for Phase {
    fn default() -> Self {
        Self::Transactions(None)
    }
}

impl Progress {
    pub(crate) fn is_over(&self) -> bool {
        matches!(&self.phase, Phase::Accounts(accounts) if accounts.is_over())
    }
}

/// A step of a reconciliation: what it checks, and where its findings belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reconciliation {
    pub(crate) id: ReconciliationId,
    pub(crate) window: Window,
    pub(crate) step: i64,
}

impl Reconciliation {
    /// The job of one that starts now. It is kept for ever, as the reason of what is posted because of it.
    pub(crate) fn job(
        id: &ReconciliationId,
        window: Window,
        request: Fingerprint,
        now: TimestampMillis,
    ) -> Result<Job, Error> {
        let task = Task { window: window.settled(now), request };
        // An id has one start; only a retry is another run.
        Ok(Job { expires_at: None, ..Job::new(&Self::key_of(id), id, id, &task, now.second())? })
    }

    pub(crate) fn of(job: &Job) -> Result<Self, Error> {
        let id = job.id.parse().map_err(|error| table::Error::unreadable("Job", &error))?;
        Ok(Self { id, window: job.task::<Task>()?.window, step: job.step })
    }

    /// The key of its job.
    pub(crate) fn key_of(id: &ReconciliationId) -> Key {
        Key::new(&ReconciliationPartition(id.clone()), &Metadata)
    }
}

/// Discrepancies that are kept, at most: they are answered in one piece. All are counted.
pub(crate) const MAX_KEPT: u64 = 1_000;

/// What does not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    MissingLeg,
    OrphanLeg,
    UnbalancedTransaction,
    WrongAmount,
    WrongBalance,
}

/// A discrepancy. What is there once is found once: its subject is its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) subject: Subject,
    pub(crate) what: Discrepancy,
}

/// What is stored of a discrepancy, and answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Discrepancy {
    pub(crate) kind: Kind,
    #[serde(rename = "TransactionID", skip_serializing_if = "Option::is_none")]
    pub(crate) transaction: Option<TransactionId>,
    #[serde(rename = "AccountID", skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<AccountId>,
    /// What there should be; none where there should be nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<Decimal>,
    /// What there is; none where there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) actual: Option<Decimal>,
    /// When the transaction was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<TimestampMillis>,
}

impl Fault {
    /// Of the transaction as a whole.
    pub(crate) fn of_transaction(
        header: &Transaction,
        kind: Kind,
        account: Option<AccountId>,
        expected: Option<Decimal>,
        actual: Option<Decimal>,
    ) -> Self {
        let (subject, transaction) = (Subject::Transaction(header.id.clone()), Some(header.id.clone()));
        let created_at = Some(header.created_at);
        Self { subject, what: Discrepancy { kind, transaction, account, expected, actual, created_at } }
    }

    /// The transaction has no such leg.
    pub(crate) fn missing(header: &Transaction, leg: LegId, account: &AccountId, amount: Decimal) -> Self {
        let Self { what, .. } =
            Self::of_transaction(header, Kind::MissingLeg, Some(account.clone()), Some(amount), None);
        Self { subject: Subject::Leg(leg), what }
    }

    /// Whether it is that the leg is missing.
    pub(crate) fn is_missing(&self, leg: &LegId) -> bool {
        self.what.kind == Kind::MissingLeg && self.subject == Subject::Leg(leg.clone())
    }

    /// The leg has no transaction, or its transaction does not know it.
    pub(crate) fn orphan(leg: &Leg) -> Self {
        let (transaction, account) = (Some(leg.transaction.clone()), Some(leg.account.clone()));
        let (actual, created_at) = (Some(leg.shown_amount()), Some(leg.created_at));
        let what = Discrepancy { kind: Kind::OrphanLeg, transaction, account, expected: None, actual, created_at };
        Self { subject: Subject::Leg(leg.id.clone()), what }
    }

    /// The account, or the named one of its transactions, has a balance that does not follow from its legs.
    pub(crate) fn balance(
        account: &AccountId,
        transaction: Option<TransactionId>,
        expected: Option<Decimal>,
        actual: Decimal,
    ) -> Self {
        let (subject, account) = (Subject::Account(account.clone()), Some(account.clone()));
        let (kind, actual) = (Kind::WrongBalance, Some(actual));
        Self { subject, what: Discrepancy { kind, transaction, account, expected, actual, created_at: None } }
    }
}

/// A discrepancy as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Finding {
    #[serde(rename = "PK")]
    partition: ReconciliationPartition,
    #[serde(rename = "SK")]
    sort: FindingSort,
    /// The step that found it: one that is repeated counts it again, a later one does not.
    pub(crate) step: i64,
    #[serde(flatten)]
    pub(crate) what: Discrepancy,
}

impl Item for Finding {
    const TYPE: &'static str = "Finding";
}

impl Finding {
    pub(crate) fn new(of: &Reconciliation, fault: Fault) -> Self {
        Self {
            partition: ReconciliationPartition(of.id.clone()),
            sort: FindingSort(fault.subject),
            step: of.step,
            what: fault.what,
        }
    }
}

/// A reconciliation as it is answered, as far as it is.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconciliationBody {
    reconciliation_id: ReconciliationId,
    status: State,
    from: TimestampMillis,
    to: TimestampMillis,
    transactions: u64,
    accounts: u64,
    discrepancies: Vec<DiscrepancyBody>,
    /// Whether more was found than is kept.
    more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct DiscrepancyBody {
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<TransactionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_id: Option<AccountId>,
    expected: Option<Decimal>,
    actual: Option<Decimal>,
}

impl ReconciliationBody {
    /// # Errors
    /// The job is no reconciliation.
    pub(crate) fn of(job: Job, found: Vec<Finding>) -> Result<Self, Error> {
        let body = |Finding { what, .. }| {
            let Discrepancy { kind, transaction: transaction_id, account: account_id, expected, actual, .. } = what;
            DiscrepancyBody { kind, transaction_id, account_id, expected, actual }
        };
        let (Reconciliation { id, window, .. }, progress) = (Reconciliation::of(&job)?, job.progress::<Progress>()?);
        Ok(Self {
            reconciliation_id: id,
            status: job.state,
            from: window.from,
            to: window.to,
            transactions: progress.transactions,
            accounts: progress.accounts,
            more: progress.discrepancies > MAX_KEPT,
            discrepancies: found.into_iter().map(body).collect(),
            reason: job.reason,
        })
    }
}
