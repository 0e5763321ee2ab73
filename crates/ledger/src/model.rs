//! The items of the ledger, and the rules for changing them.

pub(crate) mod access;
pub(crate) mod account;
pub(crate) mod account_count;
pub(crate) mod accounts_progress;
pub(crate) mod chain;
pub(crate) mod hold;
pub(crate) mod inbox;
pub(crate) mod leg;
pub(crate) mod merchant;
pub(crate) mod metadata;
pub(crate) mod posting;
pub(crate) mod posting_plan;
pub(crate) mod purpose;
pub(crate) mod reconciliation;
pub(crate) mod reference;
pub(crate) mod refusal;
pub(crate) mod reversal;
pub(crate) mod statement;
pub(crate) mod total;
pub(crate) mod totals_progress;
pub(crate) mod transaction;
