//! The Lambda `get-account`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::get_account::PATTERN.function)
}
