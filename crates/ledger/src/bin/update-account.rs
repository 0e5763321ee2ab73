//! The Lambda `update-account`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::update_account::function())
}
