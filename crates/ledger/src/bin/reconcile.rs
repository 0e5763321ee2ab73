//! The Lambda `reconcile`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::reconcile::PATTERN.function)
}
