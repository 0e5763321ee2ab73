//! The Lambda `list-account-payments`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::list_account_payments::PATTERN.function)
}
