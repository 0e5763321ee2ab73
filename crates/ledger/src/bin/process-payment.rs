//! The Lambda `process-payment`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::process_payment::function())
}
