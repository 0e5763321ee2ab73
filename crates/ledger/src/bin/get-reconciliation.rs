//! The Lambda `get-reconciliation`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::get_reconciliation::PATTERN.function)
}
