//! The Lambda `process-payment`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::process_payment::function())
}
