use crate::{
    DOMAIN, InboxItem, Leg, Transaction,
    model::{
        accounts_progress::{AccountsProgress, BrokenLeg},
        total::{Dimensions, Sums, TotalId},
        totals_progress::TotalsProgress,
    },
};
use function::{Caller, Error, Fingerprint, is_zero};
use jobs::{Job, State};
use keys::{
    AccountId, Day, ItemHash, TimestampMillis, TimestampSeconds, TransactionId,
    ledger::{
        AccountPartition, AccountType, CreatedPlace, FindingSort, LegId, MerchantId, Metadata, ReconciliationId,
        ReconciliationPartition, ReconciliationsPartition, StartedSort, Subject, TransactionPartition, TransactionType,
    },
    totals::TotalScope,
};
use money::{Currency, Decimal, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Item, Key, Page};

/// Maximum number of seconds from the time of a transaction until every read returns the
/// transaction. The time of a transaction is the time at which API Gateway received its request.
/// The longest timeout of a function that posts transactions is 60 seconds. The other 30 seconds
/// cover its start, clock differences and the delay of the indexes.
pub(crate) const SETTLES: i64 = 90;

/// The time range of the checked transactions, including both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Window {
    /// The first time.
    pub from: TimestampMillis,
    /// The last time. The window is empty if `to` is before `from`.
    pub to: TimestampMillis,
}

impl Window {
    /// Returns the window, cut off [`SETTLES`] seconds before `now`. Newer transactions may not be
    /// written yet.
    pub(crate) fn settled(self, now: TimestampMillis) -> Self {
        Self { to: self.to.min(now.minus_seconds(SETTLES)), ..self }
    }

    /// The first and the last day that lie in the window.
    pub(crate) fn days(self) -> Option<(Day, Day)> {
        let Self { from, to } = self;
        let first = if from.day().first_milli() < from { from.day().next() } else { from.day() };
        let last = if to.day().last_milli() > to { to.day().before() } else { to.day() };
        // The first and the last supported day have no neighbours.
        (first <= last && first.first_milli() >= from && last.last_milli() <= to).then_some((first, last))
    }
}

/// The task of a reconciliation job, and the fingerprint of the request that started the job. A
/// retry of that request finds the existing job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Task {
    /// The window to check, which ends at least 90 seconds before the request.
    #[serde(flatten)]
    pub(crate) window: Window,
    /// The end of the requested window, if it is later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requested_to: Option<TimestampMillis>,
    pub(crate) request: Fingerprint,
}

impl jobs::Task for Task {
    fn kind(&self) -> &'static str {
        "reconciliation"
    }
}

/// The progress of a reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Progress {
    /// Number of checked transactions.
    pub(crate) transactions: u64,
    /// Number of checked accounts.
    pub(crate) accounts: u64,
    /// Number of discrepancies. At most [`MAX_KEPT`] discrepancies are stored.
    pub(crate) discrepancies: u64,
    /// The current phase.
    pub(crate) phase: Phase,
}

/// The phase of a reconciliation: first transactions, then accounts, then totals. The findings of
/// the first phases can explain a wrong total.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// Checking the transactions after this position. `None` means the start of the window.
    Transactions(Option<CreatedPlace>),
    Accounts(AccountsProgress),
    /// Comparing the daily totals with the transactions.
    Totals(Box<TotalsProgress>),
}

impl Default for Phase {
    fn default() -> Self {
        Self::Transactions(None)
    }
}

impl Progress {
    pub(crate) fn is_over(&self, window: Window) -> bool {
        matches!(&self.phase, Phase::Totals(totals) if totals.day(window).is_none())
    }
}

/// A step of a reconciliation: the reconciliation's id and window, and the step number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reconciliation {
    pub(crate) id: ReconciliationId,
    pub(crate) window: Window,
    requested_to: Option<TimestampMillis>,
    pub(crate) step: i64,
}

impl Reconciliation {
    /// Creates the job of a new reconciliation. The job never expires, because it documents why
    /// corrections were posted.
    pub(crate) fn job(
        id: &ReconciliationId,
        window: Window,
        request: Fingerprint,
        now: TimestampMillis,
    ) -> Result<Job, Error> {
        let settled = window.settled(now);
        let requested_to = Some(window.to).filter(|to| *to > settled.to);
        let task = Task { window: settled, requested_to, request };
        let place = StartedSort { started: now, reconciliation: id.clone() };
        // The id of the reconciliation also identifies its first run. A retry starts another run.
        let job = Job { expires_at: None, ..Job::new(&Self::key_of(id), id, id, &task, now.second())? };
        Ok(job.listed(&ReconciliationsPartition, &place))
    }

    pub(crate) fn of(job: &Job) -> Result<Self, Error> {
        let id = job.id.parse().map_err(|error| table::Error::unreadable("Job", &error))?;
        let Task { window, requested_to, .. } = job.task()?;
        Ok(Self { id, window, requested_to, step: job.step })
    }

    /// What the reconciliation checks, and what it leaves out.
    pub(crate) fn coverage(&self) -> Coverage {
        let Window { from, to } = self.window;
        Coverage {
            from,
            to,
            unchecked: self.requested_to.map(|end| Span { from: to.next(), to: end }),
            totals: self.window.days().map(|(from, to)| Span { from, to }),
        }
    }

    /// The primary key of the job.
    pub(crate) fn key_of(id: &ReconciliationId) -> Key {
        Key::new(&ReconciliationPartition(id.clone()), &Metadata)
    }
}

/// The part of the requested time that a reconciliation checks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Coverage {
    from: TimestampMillis,
    to: TimestampMillis,
    /// The end of the requested time that is not checked, because its transactions may not be
    /// written yet. Absent if all of it is checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    unchecked: Option<Span<TimestampMillis>>,
    /// The days whose totals are checked. Absent if no day lies completely between `from` and `to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    totals: Option<Span<Day>>,
}

/// A range that includes both ends.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(inline)]
struct Span<T> {
    from: T,
    to: T,
}

/// Maximum number of stored discrepancies. The number is limited because one response returns all
/// stored discrepancies. The job also counts discrepancies that are not stored.
pub(crate) const MAX_KEPT: u64 = 1_000;

/// The kind of a discrepancy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "DiscrepancyKind")]
pub(crate) enum Kind {
    MissingLeg,
    OrphanLeg,
    UnbalancedTransaction,
    WrongAmount,
    WrongBalance,
    /// A leg, an inbox item or a posting copies something else than its transaction has.
    WrongCopy,
    /// The hash of a leg does not follow from its contents and from the previous leg of its
    /// account, or the account stores another hash of its last leg.
    BrokenChain,
    /// A grouped credit has neither an inbox item nor a posting.
    MissingPosting,
    /// An inbox item belongs to no grouped credit, or its credit is already posted.
    OrphanInboxItem,
    /// A grouped credit has waited in the inbox for more than an hour.
    UnsettledCredit,
    /// The reserved amount of an account differs from the sum of its open holds.
    WrongHeld,
    /// A daily total differs from the sum of its transactions.
    WrongTotal,
    /// An item that cannot be deserialized. It may hide money
    /// ([decision](../../../../docs/decisions/unreadable-items.md)).
    UnreadableItem,
}

/// Primary key of an item, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PrimaryKey")]
pub(crate) struct ItemKey {
    #[serde(rename = "PK")]
    partition: String,
    #[serde(rename = "SK")]
    sort: String,
}

/// A discrepancy and its subject. The subject is part of the key, so each subject has at most one
/// stored discrepancy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) subject: Subject,
    pub(crate) what: Discrepancy,
}

/// The stored and returned attributes of a discrepancy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Discrepancy {
    pub(crate) kind: Kind,
    #[serde(rename = "TransactionID", skip_serializing_if = "Option::is_none")]
    pub(crate) transaction: Option<TransactionId>,
    #[serde(rename = "AccountID", skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<AccountId>,
    /// The first leg that breaks the hash chain of the account.
    #[serde(rename = "LegID", skip_serializing_if = "Option::is_none")]
    pub(crate) leg: Option<LegId>,
    /// The expected amount. `None` if nothing is expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<Decimal>,
    /// The stored amount. `None` if nothing is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) actual: Option<Decimal>,
    /// The time of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<TimestampMillis>,
    /// The key of the item, if it is unreadable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<ItemKey>,
    /// The total, if it is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<WrongTotal>,
}

/// A wrong total, and the sum of it that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct WrongTotal {
    date: Day,
    #[serde(rename = "MerchantID", skip_serializing_if = "Option::is_none")]
    merchant: Option<MerchantId>,
    #[serde(flatten)]
    dimensions: Dimensions,
    sum: Sum,
}

/// A sum of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sum {
    Debits,
    Credits,
    /// The number of transactions.
    Transactions,
}

impl Discrepancy {
    fn new(kind: Kind, transaction: Option<TransactionId>, account: Option<AccountId>) -> Self {
        let (leg, created_at, key, total) = (None, None, None, None);
        Self { kind, transaction, account, leg, expected: None, actual: None, created_at, key, total }
    }
}

impl Fault {
    /// Creates the discrepancy for an item that cannot be deserialized.
    pub(crate) fn unreadable(key: &Key) -> Self {
        let (partition, sort) = (key.partition(), key.sort());
        let transaction = partition.parse().map(|TransactionPartition(id)| id).ok();
        let account = partition.parse().map(|AccountPartition(id)| id).ok();
        let key = Some(ItemKey { partition: partition.to_owned(), sort: sort.to_owned() });
        let what = Discrepancy { key, ..Discrepancy::new(Kind::UnreadableItem, transaction, account) };
        Self { subject: Subject::Item(ItemHash::of(partition, sort)), what }
    }

    /// Creates a discrepancy whose subject is the whole transaction.
    pub(crate) fn of_transaction(
        header: &Transaction,
        kind: Kind,
        account: Option<AccountId>,
        expected: Option<Decimal>,
        actual: Option<Decimal>,
    ) -> Self {
        let (subject, transaction) = (Subject::Transaction(header.id.clone()), Some(header.id.clone()));
        let created_at = Some(header.created_at);
        let what = Discrepancy { expected, actual, created_at, ..Discrepancy::new(kind, transaction, account) };
        Self { subject, what }
    }

    /// Creates the discrepancy for a leg that the header lists but that is not stored.
    pub(crate) fn missing(header: &Transaction, leg: LegId, account: &AccountId, amount: Decimal) -> Self {
        let Self { what, .. } =
            Self::of_transaction(header, Kind::MissingLeg, Some(account.clone()), Some(amount), None);
        Self { subject: Subject::Leg(leg), what }
    }

    /// Whether this discrepancy reports `leg`, or its posting, as missing.
    pub(crate) fn is_missing(&self, leg: &LegId) -> bool {
        matches!(self.what.kind, Kind::MissingLeg | Kind::MissingPosting) && self.subject == Subject::Leg(leg.clone())
    }

    /// Creates the discrepancy for a leg whose transaction does not exist or does not list the leg.
    pub(crate) fn orphan(leg: &Leg) -> Self {
        let (transaction, account) = (Some(leg.transaction().clone()), Some(leg.account.clone()));
        let (actual, created_at) = (Some(leg.shown_amount()), Some(leg.created_at));
        let what = Discrepancy { actual, created_at, ..Discrepancy::new(Kind::OrphanLeg, transaction, account) };
        Self { subject: Subject::Leg(leg.id.clone()), what }
    }

    /// Creates the discrepancy for a balance that is inconsistent with the account's legs. If
    /// `transaction` is given, the wrong balance is the balance after that transaction's leg.
    pub(crate) fn balance(
        account: &AccountId,
        transaction: Option<TransactionId>,
        expected: Option<Decimal>,
        actual: Option<Decimal>,
    ) -> Self {
        let (subject, account) = (Subject::Account(account.clone()), Some(account.clone()));
        let nothing = Discrepancy::new(Kind::WrongBalance, transaction, account);
        Self { subject, what: Discrepancy { expected, actual, ..nothing } }
    }
}

/// Discrepancies of grouped posting.
impl Fault {
    /// Creates a discrepancy of a grouped credit. `actual` is the amount of its inbox item or of
    /// its posting.
    pub(crate) fn of_grouped(kind: Kind, leg: &Leg, actual: Option<Decimal>) -> Self {
        let (transaction, account) = (Some(leg.transaction().clone()), Some(leg.account.clone()));
        let (expected, created_at) = (Some(leg.shown_amount()), Some(leg.created_at));
        let what = Discrepancy { expected, actual, created_at, ..Discrepancy::new(kind, transaction, account) };
        Self { subject: Subject::Leg(leg.id.clone()), what }
    }

    /// Creates the discrepancy for an inbox item: it belongs to no grouped credit, its credit is
    /// already posted, or it was not settled in time.
    pub(crate) fn of_inbox(kind: Kind, item: &InboxItem) -> Self {
        let Self { subject, what } = Self::unreadable(&item.key());
        let (transaction, account) = (Some(item.transaction.clone()), Some(item.account.clone()));
        let actual = Some(item.money().map_or(item.amount, Money::amount));
        let what = Discrepancy { kind, transaction, account, actual, ..what };
        Self { subject, what }
    }
}

impl Fault {
    /// Creates the discrepancy for the first leg that breaks the hash chain of the account.
    pub(crate) fn broken_chain(account: &AccountId, BrokenLeg { transaction, leg }: BrokenLeg) -> Self {
        let (subject, account) = (Subject::Account(account.clone()), Some(account.clone()));
        let nothing = Discrepancy::new(Kind::BrokenChain, Some(transaction), account);
        Self { subject, what: Discrepancy { leg: Some(leg), ..nothing } }
    }

    /// Creates the discrepancy for an account whose reserved amount differs from the sum of its
    /// open holds.
    pub(crate) fn held(account: &AccountId, expected: Option<Decimal>, actual: Option<Decimal>) -> Self {
        let nothing = Discrepancy::new(Kind::WrongHeld, None, Some(account.clone()));
        Self { subject: Subject::Holds(account.clone()), what: Discrepancy { expected, actual, ..nothing } }
    }
}

impl Fault {
    /// Creates the discrepancy for a total that differs from the sum of its transactions.
    pub(crate) fn total(id: &TotalId, expected: &Sums, actual: &Sums) -> Self {
        let number = |number: i64| number.to_string().parse::<Decimal>().ok();
        let (sum, expected, actual) = if expected.debits != actual.debits {
            (Sum::Debits, Some(expected.debits.amount()), Some(actual.debits.amount()))
        } else if expected.credits != actual.credits {
            (Sum::Credits, Some(expected.credits.amount()), Some(actual.credits.amount()))
        } else {
            (Sum::Transactions, number(expected.transactions), number(actual.transactions))
        };
        let merchant = match &id.scope {
            TotalScope::All => None,
            TotalScope::Merchant(merchant) => Some(merchant.clone()),
        };
        let total = Some(WrongTotal { date: id.day, merchant, dimensions: id.dimensions.clone(), sum });
        let what = Discrepancy { expected, actual, total, ..Discrepancy::new(Kind::WrongTotal, None, None) };
        let hash = ItemHash::of(&id.scope.to_string(), &id.sort().to_string());
        Self { subject: Subject::Total(hash), what }
    }
}

/// A stored discrepancy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Finding {
    #[serde(rename = "PK")]
    partition: ReconciliationPartition,
    #[serde(rename = "SK")]
    sort: FindingSort,
    /// The step that found the discrepancy. A repeated attempt of this step counts the discrepancy
    /// again, but later steps do not.
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

/// A reconciliation, with its progress and findings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReconciliationBody {
    reconciliation_id: ReconciliationId,
    status: State,
    #[serde(flatten)]
    coverage: Coverage,
    transactions: u64,
    accounts: u64,
    discrepancies: Vec<DiscrepancyBody>,
    /// Whether some discrepancies were found but not stored.
    more: bool,
    /// Number of stored discrepancies that cannot be deserialized.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(with = "function::Skipped")]
    skipped: usize,
    /// Reason why the job failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A difference between the ledger and the calculated values. A missing value is `null`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiscrepancyBody {
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<TransactionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_id: Option<AccountId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leg_id: Option<LegId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<ItemKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<WrongTotalBody>,
    expected: Option<Decimal>,
    actual: Option<Decimal>,
}

/// A wrong daily total, of a merchant or of all transactions, and the sum that is wrong.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WrongTotalBody {
    date: Day,
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<MerchantId>,
    transaction_type: TransactionType,
    account_type: AccountType,
    currency: Currency,
    sum: Sum,
}

impl From<WrongTotal> for WrongTotalBody {
    fn from(WrongTotal { date, merchant, dimensions, sum }: WrongTotal) -> Self {
        let Dimensions { transaction_type, account_type, currency } = dimensions;
        Self { date, merchant_id: merchant, transaction_type, account_type, currency, sum }
    }
}

impl DiscrepancyBody {
    fn of(Discrepancy { kind, transaction, account, leg, expected, actual, key, total, .. }: Discrepancy) -> Self {
        let total = total.map(WrongTotalBody::from);
        Self { kind, transaction_id: transaction, account_id: account, leg_id: leg, key, total, expected, actual }
    }

    /// Creates the finding for an item of the account that cannot be deserialized. Only operators
    /// see the key, because an item that was written by hand can have any key.
    pub(crate) fn of_statement(account: &AccountId, key: &Key, caller: &Caller) -> Self {
        let mut what = Fault::unreadable(key).what;
        what.account = Some(account.clone());
        what.transaction = what.transaction.filter(|transaction| Leg::is_key_in(key, transaction));
        what.key = what.key.filter(|_| caller.operates(DOMAIN));
        Self::of(what)
    }

    pub(crate) fn transaction(&self) -> Option<&TransactionId> {
        self.transaction_id.as_ref()
    }
}

impl ReconciliationBody {
    /// # Errors
    /// Returns an internal error if the task or the progress of the job cannot be read.
    pub(crate) fn of(job: Job, found: Page<Finding>) -> Result<Self, Error> {
        let body = |finding: Finding| DiscrepancyBody::of(finding.what);
        let (of, progress) = (Reconciliation::of(&job)?, job.progress::<Progress>()?);
        Ok(Self {
            coverage: of.coverage(),
            reconciliation_id: of.id,
            status: job.state,
            transactions: progress.transactions,
            accounts: progress.accounts,
            more: progress.discrepancies > MAX_KEPT,
            skipped: found.skipped,
            discrepancies: found.items.into_iter().map(body).collect(),
            reason: job.reason,
        })
    }
}

/// A reconciliation without its findings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReconciliationSummary {
    reconciliation_id: ReconciliationId,
    status: State,
    started_at: TimestampSeconds,
    #[serde(flatten)]
    coverage: Coverage,
    transactions: u64,
    accounts: u64,
    /// Number of discrepancies, including those that are not stored.
    discrepancy_count: u64,
    /// Reason why the job failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl ReconciliationSummary {
    /// # Errors
    /// Returns an internal error if the task or the progress of the job cannot be read.
    pub(crate) fn of(job: Job) -> Result<Self, Error> {
        let (of, progress) = (Reconciliation::of(&job)?, job.progress::<Progress>()?);
        Ok(Self {
            coverage: of.coverage(),
            reconciliation_id: of.id,
            status: job.state,
            started_at: job.started_at,
            transactions: progress.transactions,
            accounts: progress.accounts,
            discrepancy_count: progress.discrepancies,
            reason: job.reason,
        })
    }
}
