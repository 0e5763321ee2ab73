//! The Lambda `get-job`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_job::PATTERN.function)
}
