//! The Lambda `reconcile`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::reconcile::function())
}
