//! The access patterns, one module per pattern.
//!
//! `make docs` writes this file from the names of the modules.

#![allow(missing_docs, reason = "PATTERN declares the access pattern of its module")]

pub mod archive_settled_payments;
pub mod close_day;
pub mod continue_bank_job;
pub mod dispatch_due_payments;
pub mod execute_payment;
pub mod find_transaction;
pub mod get_bank_job;
pub mod get_day;
pub mod get_dispatching;
pub mod get_import;
pub mod get_payment;
pub mod get_standing_order;
pub mod import_payments;
pub mod list_account_payments;
pub mod list_account_transactions;
pub mod list_due_payments;
pub mod list_imports;
pub mod list_overdue_payments;
pub mod list_standing_orders;
pub mod list_transactions_by_date;
pub mod put_standing_order;
pub mod remove_standing_order;
pub mod retry_bank_job;
pub mod retry_import;
pub mod retry_payment;
pub mod schedule_payment;
pub mod schedule_standing_orders;
pub mod set_dispatching;
pub mod start_close;
pub mod start_dispatch;
pub mod update_payment_status;

use crate::Pattern;

/// Every access pattern of the domain, by number.
pub fn patterns() -> Vec<Pattern> {
    function::by_number(vec![
        archive_settled_payments::PATTERN,
        close_day::PATTERN,
        continue_bank_job::PATTERN,
        dispatch_due_payments::PATTERN,
        execute_payment::PATTERN,
        find_transaction::PATTERN,
        get_bank_job::PATTERN,
        get_day::PATTERN,
        get_dispatching::PATTERN,
        get_import::PATTERN,
        get_payment::PATTERN,
        get_standing_order::PATTERN,
        import_payments::PATTERN,
        list_account_payments::PATTERN,
        list_account_transactions::PATTERN,
        list_due_payments::PATTERN,
        list_imports::PATTERN,
        list_overdue_payments::PATTERN,
        list_standing_orders::PATTERN,
        list_transactions_by_date::PATTERN,
        put_standing_order::PATTERN,
        remove_standing_order::PATTERN,
        retry_bank_job::PATTERN,
        retry_import::PATTERN,
        retry_payment::PATTERN,
        schedule_payment::PATTERN,
        schedule_standing_orders::PATTERN,
        set_dispatching::PATTERN,
        start_close::PATTERN,
        start_dispatch::PATTERN,
        update_payment_status::PATTERN,
    ])
}
