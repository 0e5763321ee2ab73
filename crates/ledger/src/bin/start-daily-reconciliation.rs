//! The Lambda `start-daily-reconciliation`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::start_daily_reconciliation::function())
}
