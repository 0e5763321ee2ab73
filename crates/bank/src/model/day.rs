//! Items that the close of a day stores in `BankJobs` (docs/decisions/close.md).

use function::is_zero;
use intake::MAX_COUNTED;
use keys::{
    AccountId, ItemHash, TimestampSeconds,
    bank::{CertificateSort, CloseNumber, DayPartition, DiscrepancySort, OpenSort, PaymentId, Status},
};
use money::{Currency, Decimal, Money, payable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use table::{Item, JsonText, Key};

/// Maximum number of open payments and of discrepancies in the response, for each close.
pub(crate) const LISTED: usize = 100;

/// Number of payments by status.
pub(crate) type Counts = BTreeMap<Status, u64>;

/// Sum of the amounts of the payments with one status in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Total {
    status: Status,
    sum: Money,
}

/// Counts and sums of settled payments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    totals: Vec<Total>,
    /// Number of payments that are counted but not part of a sum.
    without_amount: u64,
}

/// Returns the amount of a payment, if its `data` has an amount that can be paid. The totals of an
/// import use the same amounts.
pub(crate) fn money_of(data: &JsonText) -> Option<Money> {
    payable(data.text()).ok()
}

impl Tally {
    /// Counts a payment, and adds its amount to the sum of its status and currency. A payment
    /// without a valid amount is only counted. So is an amount of [`MAX_COUNTED`] or more: a
    /// customer could otherwise exceed the 38 digits of a sum, and hide all other payments.
    pub(crate) fn add(&mut self, status: Status, amount: Option<Money>) {
        *self.counts.entry(status).or_default() += 1;
        let amount = amount.filter(|amount| amount.minor().abs() < MAX_COUNTED);
        let is_summed = amount.is_some_and(|sum| self.sum(Total { status, sum }));
        self.without_amount += u64::from(!is_summed);
    }

    /// Adds the counts and sums of other payments.
    pub(crate) fn merge(&mut self, other: Self) {
        for (status, count) in other.counts {
            *self.counts.entry(status).or_default() += count;
        }
        self.without_amount += other.without_amount;
        for total in other.totals {
            self.sum(total);
        }
    }

    /// Adds to a sum. Returns `false` if the sum would have more than 38 digits.
    fn sum(&mut self, more: Total) -> bool {
        let of = |total: &Total| (total.status, total.sum.currency());
        let Some(total) = self.totals.iter_mut().find(|total| of(total) == of(&more)) else {
            self.totals.push(more);
            return true;
        };
        let sum = total.sum.checked_add(more.sum);
        total.sum = sum.unwrap_or(total.sum);
        sum.is_some()
    }

    /// Returns the counts and sums of the payments that were settled since an earlier close.
    pub(crate) fn since(mut self, earlier: &Self) -> Self {
        for (status, count) in &mut self.counts {
            *count = count.saturating_sub(earlier.counts.get(status).copied().unwrap_or_default());
        }
        self.without_amount = self.without_amount.saturating_sub(earlier.without_amount);
        for Total { status, sum } in &earlier.totals {
            self.sum(Total { status: *status, sum: -*sum });
        }
        self.totals.retain(|total| total.sum.minor() != 0);
        self
    }

    /// Compares settled payments with the transactions of these payments in the ledger. Only
    /// `PROCESSED` payments have a transaction. Returns descriptions of both sides if they differ.
    pub(crate) fn differs_from(&self, ledger: &Self) -> Option<(String, String)> {
        let paid = |status: Status| status == Status::Processed;
        let (expected, actual) = (self.described(paid), ledger.described(|_| true));
        (expected != actual).then_some((expected, actual))
    }

    /// Describes the counts and sums of some statuses, in order.
    fn described(&self, is_included: impl Fn(Status) -> bool) -> String {
        let mut parts = Vec::new();
        for (status, count) in self.counts.iter().filter(|(status, _)| is_included(**status)) {
            let mut sums: Vec<Money> =
                self.totals.iter().filter(|total| total.status == *status).map(|total| total.sum).collect();
            sums.sort_by_key(|sum| sum.currency());
            let sums: Vec<String> = sums.iter().map(Money::to_string).collect();
            parts.push(format!("{count} {status}: {}", sums.join(", ")));
        }
        if parts.is_empty() { "no transactions".to_owned() } else { parts.join("; ") }
    }

    /// Number of all counted payments.
    pub(crate) fn count(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Result of a close. It never changes. The first one is the certificate of the day, and each later
/// one is a supplement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Certificate {
    #[serde(rename = "PK")]
    pub(crate) partition: DayPartition,
    #[serde(rename = "SK")]
    pub(crate) sort: CertificateSort,
    /// All settled payments of the day, including those of earlier closes.
    pub(crate) settled: Tally,
    /// Transactions of the settled payments in the ledger, by the status of their payment. Absent
    /// if the ledger does not execute the payments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ledger: Option<Tally>,
    /// Number of payments that were still open, by status.
    pub(crate) open: Counts,
    /// Number of discrepancies. At most [`MAX_KEPT`] are stored.
    pub(crate) discrepancies: u64,
    /// Time at which the close started.
    pub(crate) closed_at: TimestampSeconds,
}

impl Item for Certificate {
    const TYPE: &'static str = "Certificate";
}

/// Keys of a certificate. They can be read even if the certificate itself cannot.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CertificateKey {
    #[serde(rename = "SK")]
    pub(crate) sort: CertificateSort,
}

impl Item for CertificateKey {
    const TYPE: &'static str = "Certificate";
}

/// Payment that was open at a close: it was not settled when the close counted the payments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct OpenPayment {
    #[serde(rename = "PK")]
    pub(crate) partition: DayPartition,
    #[serde(rename = "SK")]
    pub(crate) sort: OpenSort,
    #[serde(rename = "AccountID")]
    pub(crate) account: AccountId,
    pub(crate) status: Status,
    /// Step of the job that stored this item. A repeated attempt of the step counts it again, but
    /// later steps do not.
    pub(crate) step: i64,
}

impl Item for OpenPayment {
    const TYPE: &'static str = "OpenPayment";
}

/// Maximum number of stored discrepancies of a close. Further ones are only counted.
pub(crate) const MAX_KEPT: u64 = 1_000;

/// Kind of a discrepancy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BankDiscrepancyKind")]
pub(crate) enum Kind {
    /// An item that cannot be deserialized. A payment is counted, but not part of a sum. The
    /// payment of a ledger transaction is not compared.
    UnreadableItem,
    /// A settled payment that cannot be archived: it has no transaction id, or the history already
    /// contains it.
    NotArchived,
    /// The transaction in the ledger differs from the payment.
    LedgerTransaction,
    /// The number or the sum of the transactions in the ledger differs from the payments.
    LedgerTotals,
}

/// What a close found wrong with a payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Finding {
    pub(crate) kind: Kind,
    /// Primary key of the payment, as stored. For an unreadable transaction, its key in the ledger.
    /// For totals, the key of the certificate.
    pub(crate) key: ItemKey,
    /// What follows from the payments, if the ledger differs from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    /// What the ledger contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<String>,
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

impl Finding {
    /// Creates a finding about the item with this key.
    pub(crate) fn new(kind: Kind, key: &Key) -> Self {
        let key = ItemKey { partition: key.partition().to_owned(), sort: key.sort().to_owned() };
        Self { kind, key, expected: None, actual: None }
    }

    /// Creates a finding about a difference between the bank and the ledger.
    pub(crate) fn differing(kind: Kind, key: &Key, expected: String, actual: String) -> Self {
        Self { expected: Some(expected), actual: Some(actual), ..Self::new(kind, key) }
    }
}

/// Stored discrepancy of a close.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Discrepancy {
    #[serde(rename = "PK")]
    partition: DayPartition,
    #[serde(rename = "SK")]
    sort: DiscrepancySort,
    /// As [`OpenPayment::step`].
    pub(crate) step: i64,
    #[serde(flatten)]
    pub(crate) what: Finding,
}

impl Item for Discrepancy {
    const TYPE: &'static str = "Discrepancy";
}

impl Discrepancy {
    pub(crate) fn new(partition: DayPartition, number: CloseNumber, step: i64, what: Finding) -> Self {
        let item = ItemHash::of(&what.key.partition, &what.key.sort);
        Self { partition, sort: DiscrepancySort { number, item }, step, what }
    }
}

/// Counts and sums. All statuses are counted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TallyBody {
    #[schemars(with = "CountsBody")]
    counts: Counts,
    totals: Vec<TotalBody>,
    #[serde(skip_serializing_if = "is_nothing")]
    #[schemars(range(min = 1))]
    without_amount: u64,
}

/// Sum of the amounts of the payments with this status and currency.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "BankTotal")]
struct TotalBody {
    status: Status,
    currency: Currency,
    amount: Decimal,
}

/// The schema of counts in a response.
pub(crate) struct CountsBody;

keys::schema!(CountsBody as "BankCounts", |generator| {
    let mut schema = Counts::json_schema(generator);
    schema.insert("description".to_owned(), "Number of payments by status.".into());
    schema.insert("required".to_owned(), json!(Status::ALL));
    schema
});

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
fn is_nothing(count: &u64) -> bool {
    *count == 0
}

/// Returns the counts with a count for each status.
pub(crate) fn complete(counts: impl IntoIterator<Item = (Status, u64)>) -> Counts {
    let mut complete: Counts = Status::ALL.map(|status| (status, 0)).into();
    for (status, count) in counts {
        *complete.entry(status).or_default() += count;
    }
    complete
}

/// Returns the totals in order.
fn bodies(mut totals: Vec<Total>) -> Vec<TotalBody> {
    totals.sort_by_key(|total| (total.status, total.sum.currency()));
    let body = |Total { status, sum }| TotalBody { status, currency: sum.currency(), amount: sum.amount() };
    totals.into_iter().map(body).collect()
}

/// The transactions of the settled payments in the ledger. The totals are by the status of the
/// payments. Absent if the ledger does not execute the payments.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BankLedgerTotals")]
struct LedgerBody {
    transactions: u64,
    totals: Vec<TotalBody>,
}

impl From<Tally> for LedgerBody {
    fn from(tally: Tally) -> Self {
        Self { transactions: tally.count(), totals: bodies(tally.totals) }
    }
}

impl TallyBody {
    fn of(settled: Tally, open: Counts) -> Self {
        Self {
            counts: complete(settled.counts.into_iter().chain(open)),
            totals: bodies(settled.totals),
            without_amount: settled.without_amount,
        }
    }
}

/// A payment that was not settled when the close counted the payments.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OpenPayment")]
pub(crate) struct OpenBody {
    account_id: AccountId,
    payment_id: PaymentId,
    scheduled_time: TimestampSeconds,
    status: Status,
}

impl From<OpenPayment> for OpenBody {
    fn from(OpenPayment { sort, account, status, .. }: OpenPayment) -> Self {
        let payment_id = sort.payment;
        Self { account_id: account, payment_id, scheduled_time: payment_id.time(), status }
    }
}

/// A payment that cannot be read or cannot be archived, or a difference between the bank and the
/// ledger. `key` is the primary key of the payment, of the unreadable transaction in the ledger,
/// or, for `ledger-totals`, of the certificate. A difference has `expected`, which follows from the
/// payments, and `actual`, which the ledger contains.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "BankDiscrepancy")]
pub(crate) struct FindingBody {
    kind: Kind,
    key: ItemKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<String>,
}

impl From<Discrepancy> for FindingBody {
    fn from(Discrepancy { what: Finding { kind, key, expected, actual }, .. }: Discrepancy) -> Self {
        Self { kind, key, expected, actual }
    }
}

/// What a close could not settle: the first entries of each list, and their number.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    #[schemars(length(max = LISTED))]
    pub(crate) open: Vec<OpenBody>,
    #[schemars(length(max = LISTED))]
    pub(crate) discrepancies: Vec<FindingBody>,
    /// Number of listed entries that cannot be read.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(with = "function::Skipped")]
    pub(crate) skipped: usize,
}

/// Certificate or supplement.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CertificateBody {
    #[serde(flatten)]
    tally: TallyBody,
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<LedgerBody>,
    open_count: u64,
    discrepancy_count: u64,
    closed_at: TimestampSeconds,
    #[serde(flatten)]
    details: Option<Details>,
}

impl CertificateBody {
    /// Creates the body of a certificate. The counts and sums are those since the earlier close.
    pub(crate) fn of(certificate: Certificate, earlier: Option<&Certificate>, details: Option<Details>) -> Self {
        let Certificate { settled, ledger, open, discrepancies, closed_at, .. } = certificate;
        let settled = match earlier {
            Some(earlier) => settled.since(&earlier.settled),
            None => settled,
        };
        let ledger = match (ledger, earlier.and_then(|earlier| earlier.ledger.as_ref())) {
            (Some(ledger), Some(earlier)) => Some(ledger.since(earlier)),
            (ledger, _) => ledger,
        };
        Self {
            open_count: open.values().sum(),
            tally: TallyBody::of(settled, open),
            ledger: ledger.map(Into::into),
            discrepancy_count: discrepancies,
            closed_at,
            details,
        }
    }
}
