//! The Lambda `retry-bank-job`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::retry_bank_job::PATTERN.function)
}
