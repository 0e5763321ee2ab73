//! Work that outlives a request.

pub(crate) mod check_accounts;
pub(crate) mod check_transactions;
pub(crate) mod reconcile;
