//! The Lambda `list-account-payments`.

fn main() -> std::process::ExitCode {
    function::run(&bank::list_account_payments::function())
}
