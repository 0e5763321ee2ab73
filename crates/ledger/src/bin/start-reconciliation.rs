//! The Lambda `start-reconciliation`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::start_reconciliation::function())
}
