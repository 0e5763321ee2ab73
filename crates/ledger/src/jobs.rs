//! The checks of the reconciliation job.

pub(crate) mod check_accounts;
mod check_holds;
pub(crate) mod check_transactions;
pub(crate) mod reconcile;
