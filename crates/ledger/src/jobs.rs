//! The checks of the reconciliation job.

pub(crate) mod check_accounts;
mod check_holds;
mod check_totals;
pub(crate) mod check_transactions;
pub(crate) mod reconcile;
