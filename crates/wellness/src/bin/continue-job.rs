//! The Lambda `continue-job`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::continue_job::PATTERN.function)
}
