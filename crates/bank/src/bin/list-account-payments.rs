//! The Lambda `list-account-payments`.

fn main() -> Result<(), function::StartError> {
    function::run(&bank::list_account_payments::function())
}
