//! The Lambda `get-trial-balance`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::get_trial_balance::PATTERN.function)
}
