//! The Lambda `list-transactions-by-date`.

fn main() -> Result<(), function::StartError> {
    function::run(&bank::list_transactions_by_date::function())
}
