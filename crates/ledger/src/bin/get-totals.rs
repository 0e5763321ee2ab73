//! The Lambda `get-totals`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::get_totals::PATTERN.function)
}
