//! The Lambda `get-merchant`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::get_merchant::function())
}
