//! The Lambda `get-reconciliation`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::get_reconciliation::function())
}
