//! The Lambda `list-account-transactions`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::list_account_transactions::PATTERN.function)
}
