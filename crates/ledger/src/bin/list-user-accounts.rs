//! The Lambda `list-user-accounts`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::list_user_accounts::PATTERN.function)
}
