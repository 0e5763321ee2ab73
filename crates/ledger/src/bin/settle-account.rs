//! The Lambda `settle-account`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::settle_account::PATTERN.function)
}
