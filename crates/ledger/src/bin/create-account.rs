//! The Lambda `create-account`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::create_account::function())
}
