//! The Lambda `react-to-transactions`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::react_to_transactions::PATTERN.function)
}
