//! The Lambda `retry-payment`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::retry_payment::PATTERN.function)
}
