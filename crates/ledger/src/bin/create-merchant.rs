//! The Lambda `create-merchant`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::create_merchant::PATTERN.function)
}
