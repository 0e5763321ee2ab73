//! The Lambda `get-bank-job`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::get_bank_job::PATTERN.function)
}
