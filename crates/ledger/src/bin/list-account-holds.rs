//! The Lambda `list-account-holds`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::list_account_holds::PATTERN.function)
}
