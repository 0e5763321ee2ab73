//! The Lambda `process-payment`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::process_payment::PATTERN.function)
}
