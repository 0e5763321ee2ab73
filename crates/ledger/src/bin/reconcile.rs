//! The Lambda `reconcile`.

fn main() -> Result<(), function::StartError> {
    function::run(&ledger::reconcile::function())
}
