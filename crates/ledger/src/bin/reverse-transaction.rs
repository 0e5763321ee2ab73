//! The Lambda `reverse-transaction`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::reverse_transaction::PATTERN.function)
}
