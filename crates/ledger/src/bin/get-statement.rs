//! The Lambda `get-statement`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::get_statement::function())
}
