//! The Lambda `create-account`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::create_account::PATTERN.function)
}
