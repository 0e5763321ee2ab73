//! The Lambda `get-balance`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::get_balance::PATTERN.function)
}
