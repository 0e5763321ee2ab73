//! The Lambda `get-transaction`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::get_transaction::PATTERN.function)
}
