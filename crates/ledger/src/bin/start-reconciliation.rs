//! The Lambda `start-reconciliation`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::start_reconciliation::function())
}
