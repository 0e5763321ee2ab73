//! The Lambda `void-hold`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::void_hold::PATTERN.function)
}
