//! The Lambda `create-hold`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::create_hold::PATTERN.function)
}
