//! The Lambda `list-merchants`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::list_merchants::PATTERN.function)
}
