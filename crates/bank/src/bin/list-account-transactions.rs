//! The Lambda `list-account-transactions`.

fn main() -> Result<(), function::StartError> {
    function::run(&bank::list_account_transactions::function())
}
