//! The Lambda `list-transactions`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::list_transactions::function())
}
