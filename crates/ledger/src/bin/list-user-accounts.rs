//! The Lambda `list-user-accounts`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::list_user_accounts::function())
}
