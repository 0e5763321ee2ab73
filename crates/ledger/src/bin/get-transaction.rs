//! The Lambda `get-transaction`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::get_transaction::function())
}
