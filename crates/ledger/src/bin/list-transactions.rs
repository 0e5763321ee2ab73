//! The Lambda `list-transactions`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::list_transactions::function())
}
