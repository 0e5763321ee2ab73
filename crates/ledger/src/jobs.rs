//! The jobs of the ledger: the checks of a reconciliation, and the settlement of accounts.

pub(crate) mod check_accounts;
mod check_grouped;
mod check_holds;
mod check_totals;
pub(crate) mod check_transactions;
pub(crate) mod reconcile;
pub(crate) mod settle;
