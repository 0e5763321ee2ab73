//! The Lambda `list-account-transactions`.

fn main() -> std::process::ExitCode {
    function::run(&bank::list_account_transactions::function())
}
