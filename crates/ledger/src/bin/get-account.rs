//! The Lambda `get-account`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::get_account::function())
}
