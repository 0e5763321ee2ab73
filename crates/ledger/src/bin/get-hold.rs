//! The Lambda `get-hold`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::get_hold::PATTERN.function)
}
