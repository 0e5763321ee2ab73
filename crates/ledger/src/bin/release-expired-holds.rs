//! The Lambda `release-expired-holds`.

fn main() -> std::process::ExitCode {
    function::run(ledger::patterns::release_expired_holds::PATTERN.function)
}
