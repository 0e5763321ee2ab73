//! The progress of a reconciliation through the daily totals, as stored in its job.

use crate::model::{
    reconciliation::Window,
    total::{Dimensions, Sums, TotalId},
};
use keys::{Day, ledger::CreatedPlace, totals::TotalScope};
use money::{Decimal, Money};
use serde::{Deserialize, Serialize};

/// The progress through the days of the window. A pass reads the transactions of a day, and then
/// compares their sums with totals. A day with very many totals takes several passes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct TotalsProgress {
    /// The last day whose totals are checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<Day>,
    /// The position in the transactions of the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) behind: Option<CreatedPlace>,
    /// Whether the pass has read all transactions of the day.
    pub(crate) is_read: bool,
    /// The first total of the pass. `None` means the first total of the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<ExpectedTotal>,
    /// The first total of the next pass, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<ExpectedTotal>,
    /// The totals of the pass, according to the transactions that it has read.
    pub(crate) expected: Vec<ExpectedTotal>,
    /// Number of times that the totals of the pass were compared.
    pub(crate) looks: usize,
}

impl TotalsProgress {
    /// The day to check. `None` if all days that lie in the window are checked.
    pub(crate) fn day(&self, window: Window) -> Option<Day> {
        let (first, last) = window.days()?;
        let day = self.done.map_or(first, Day::next);
        // The last supported day has no next day.
        (day <= last && self.done != Some(day)).then_some(day)
    }

    /// Moves on to the next pass over the day, or to the next day.
    pub(crate) fn next_pass(&mut self, day: Day) {
        let first = self.limit.take();
        let done = if first.is_none() { Some(day) } else { self.done };
        *self = Self { done, first, ..Self::default() };
    }
}

/// A total and its expected sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExpectedTotal {
    scope: TotalScope,
    #[serde(flatten)]
    dimensions: Dimensions,
    debits: Decimal,
    credits: Decimal,
    transactions: i64,
}

impl ExpectedTotal {
    pub(crate) fn new(id: &TotalId, sums: &Sums) -> Self {
        Self {
            scope: id.scope.clone(),
            dimensions: id.dimensions.clone(),
            debits: sums.debits.amount(),
            credits: sums.credits.amount(),
            transactions: sums.transactions,
        }
    }

    pub(crate) fn id(&self, day: Day) -> TotalId {
        TotalId { scope: self.scope.clone(), day, dimensions: self.dimensions.clone() }
    }

    /// The sums. `None` if the stored progress has an amount that is not valid for the currency.
    pub(crate) fn sums(&self) -> Option<Sums> {
        let money = |amount| Money::new(amount, self.dimensions.currency).ok();
        Some(Sums { debits: money(self.debits)?, credits: money(self.credits)?, transactions: self.transactions })
    }

    /// The approximate size of the total in the job: its texts, and room for names and amounts.
    pub(crate) fn size(&self) -> usize {
        const REST: usize = 180;
        let Dimensions { transaction_type, account_type, .. } = &self.dimensions;
        REST + transaction_type.as_str().len() + account_type.as_str().len() + self.scope.to_string().len()
    }
}
