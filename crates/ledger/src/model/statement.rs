use crate::{
    Leg, Purpose,
    model::{leg::LegBody, purpose::Description, reconciliation::DiscrepancyBody, transaction::ReversedBody},
};
use function::{Caller, Cell, Csv, List};
use keys::{
    AccountId, TimestampMillis,
    ledger::{MerchantId, Reference, TransactionType},
};
use money::{Currency, Decimal, Money};
use schemars::JsonSchema;
use serde::Serialize;

/// A page of an account's statement.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StatementPage")]
pub struct Statement {
    #[serde(flatten)]
    pub(crate) legs: List<StatementLeg>,
    /// The balances of the period, if the request names one.
    #[serde(flatten)]
    pub(crate) balances: Option<PeriodBalances>,
    /// The unreadable items of the page, each as an `unreadable-item`. Only operators see the
    /// `key`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<DiscrepancyBody>,
}

/// The balances at the start and at the end of a period.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PeriodBalances {
    /// Present if the request has `from` or `to`.
    pub(crate) currency: Currency,
    /// The balance before `from`. Present if the request has `from` or `to`, and the balance can be
    /// read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opening_balance: Option<Decimal>,
    /// The balance at `to`. Present if the request has `from` or `to`, and the balance can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) closing_balance: Option<Decimal>,
}

impl PeriodBalances {
    pub(crate) fn new(currency: Currency, opening: Option<Money>, closing: Option<Money>) -> Self {
        let [opening_balance, closing_balance] = [opening, closing].map(|balance| balance.map(Money::amount));
        Self { currency, opening_balance, closing_balance }
    }
}

/// A leg in a statement, with attributes of its transaction.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatementLeg {
    #[serde(flatten)]
    leg: LegBody,
    transaction_type: TransactionType,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Description>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<MerchantId>,
    /// The other account, if the transaction has two legs.
    #[serde(skip_serializing_if = "Option::is_none")]
    counterparty_account_id: Option<AccountId>,
    #[serde(flatten)]
    reversed: Option<ReversedBody>,
}

impl StatementLeg {
    /// Creates the leg of a statement.
    pub(crate) fn of(leg: Leg, reversed: Option<ReversedBody>, caller: &Caller) -> Self {
        let Purpose { transaction_type, description, reference, merchant, counterparty } = leg.purpose.clone();
        Self {
            leg: LegBody::of(leg, caller),
            transaction_type,
            description,
            reference,
            merchant_id: merchant,
            counterparty_account_id: counterparty,
            reversed,
        }
    }
}

/// The columns of a statement in CSV.
const COLUMNS: [&str; 15] = [
    "row",
    "createdAt",
    "transactionId",
    "legId",
    "transactionType",
    "description",
    "reference",
    "merchantId",
    "counterpartyAccountId",
    "reversedAmount",
    "legType",
    "amount",
    "currency",
    "balanceAfter",
    "postedAt",
];

impl Statement {
    /// Converts the page to CSV. The first page of a period starts with the closing balance, and
    /// the last page ends with the opening balance. The pages can therefore be concatenated. An
    /// unreadable item has a row, because it may hide money.
    pub(crate) fn csv(self, is_first: bool, (from, to): (Option<TimestampMillis>, Option<TimestampMillis>)) -> Csv {
        let (legs, next_cursor) = self.legs.into_parts();
        let is_last = next_cursor.is_none();
        let mut csv = Csv::new(&COLUMNS, next_cursor);
        let (opening, closing) = self.balances.as_ref().map_or((None, None), |balances| {
            let row =
                |name, balance: Option<Decimal>, at| balance.map(|balance| (name, balance, at, balances.currency));
            (
                row("opening-balance", balances.opening_balance, from),
                row("closing-balance", balances.closing_balance, to),
            )
        });
        add_balance(&mut csv, closing.filter(|_| is_first));
        for leg in &legs {
            leg.add_to(&mut csv);
        }
        for finding in &self.findings {
            let transaction = finding.transaction().map(ToString::to_string).unwrap_or_default();
            let cells = [Cell::Value("unreadable-item"), Cell::Empty, Cell::Text(&transaction)];
            csv.row(cells.into_iter().chain([Cell::Empty; COLUMNS.len() - 3]));
        }
        add_balance(&mut csv, opening.filter(|_| is_last));
        csv
    }
}

fn add_balance(csv: &mut Csv, row: Option<(&str, Decimal, Option<TimestampMillis>, Currency)>) {
    let Some((name, balance, at, currency)) = row else { return };
    let (at, currency, balance) = (at.map(|at| at.to_string()), currency.to_string(), balance.to_string());
    let time = at.as_deref().map_or(Cell::Empty, Cell::Value);
    let start = [Cell::Value(name), time].into_iter().chain([Cell::Empty; COLUMNS.len() - 5]);
    csv.row(start.chain([Cell::Value(&currency), Cell::Value(&balance), Cell::Empty]));
}

impl StatementLeg {
    fn add_to(&self, csv: &mut Csv) {
        let leg = &self.leg;
        let (created, amount) = (leg.created_at.to_string(), leg.amount.to_string());
        let (currency, after) = (leg.currency.to_string(), leg.balance_after.map(|after| after.to_string()));
        let posted = leg.posted_at.map(|posted| posted.to_string());
        let description = self.description.as_ref().map(ToString::to_string);
        let reversed = self.reversed.as_ref().map(ReversedBody::shown);
        csv.row([
            Cell::Value("leg"),
            Cell::Value(&created),
            Cell::Text(leg.transaction_id.as_str()),
            Cell::Text(leg.leg_id.as_str()),
            Cell::Text(self.transaction_type.as_str()),
            text(description.as_deref()),
            text(self.reference.as_ref().map(Reference::as_str)),
            text(self.merchant_id.as_ref().map(MerchantId::as_str)),
            text(self.counterparty_account_id.as_ref().map(AccountId::as_str)),
            reversed.as_deref().map_or(Cell::Empty, Cell::Value),
            Cell::Value(leg.leg_type.as_str()),
            Cell::Value(&amount),
            Cell::Value(&currency),
            after.as_deref().map_or(Cell::Empty, Cell::Value),
            posted.as_deref().map_or(Cell::Empty, Cell::Value),
        ]);
    }
}

fn text(text: Option<&str>) -> Cell<'_> {
    text.map_or(Cell::Empty, Cell::Text)
}
