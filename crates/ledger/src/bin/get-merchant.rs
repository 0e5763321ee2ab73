//! The Lambda `get-merchant`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::get_merchant::PATTERN.function)
}
