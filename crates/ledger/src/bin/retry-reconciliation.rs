//! The Lambda `retry-reconciliation`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::retry_reconciliation::PATTERN.function)
}
