//! The Lambda `update-account`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::update_account::PATTERN.function)
}
