//! The Lambda `start-reconciliation`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::start_reconciliation::PATTERN.function)
}
