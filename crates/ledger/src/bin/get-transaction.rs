//! The Lambda `get-transaction`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::get_transaction::function())
}
