//! The Lambda `reverse-transaction`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::reverse_transaction::function())
}
