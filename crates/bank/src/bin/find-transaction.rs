//! The Lambda `find-transaction`.

fn main() -> Result<(), function::StartError> {
    function::run(&bank::find_transaction::function())
}
