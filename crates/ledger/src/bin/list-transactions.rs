//! The Lambda `list-transactions`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::list_transactions::PATTERN.function)
}
