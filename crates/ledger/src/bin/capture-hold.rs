//! The Lambda `capture-hold`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::capture_hold::PATTERN.function)
}
