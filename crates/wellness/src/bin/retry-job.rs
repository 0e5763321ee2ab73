//! The Lambda `retry-job`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::retry_job::PATTERN.function)
}
