//! The Lambda `start-daily-reconciliation`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::start_daily_reconciliation::PATTERN.function)
}
