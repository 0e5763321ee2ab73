//! The Lambda `list-due-payments`.

fn main() -> Result<(), function::StartError> {
    function::run(&bank::list_due_payments::function())
}
