//! The Lambda `get-statement`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::get_statement::PATTERN.function)
}
