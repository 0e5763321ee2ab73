//! The Lambda `process-batch`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::process_batch::PATTERN.function)
}
