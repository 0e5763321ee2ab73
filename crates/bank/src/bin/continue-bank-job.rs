//! The Lambda `continue-bank-job`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::continue_bank_job::PATTERN.function)
}
