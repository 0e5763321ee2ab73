//! The Lambda `list-reconciliations`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::list_reconciliations::PATTERN.function)
}
