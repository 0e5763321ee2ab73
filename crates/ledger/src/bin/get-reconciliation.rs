//! The Lambda `get-reconciliation`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::get_reconciliation::function())
}
