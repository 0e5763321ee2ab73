//! The Lambda `create-merchant`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::create_merchant::function())
}
