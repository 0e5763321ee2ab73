//! The Lambda `continue-job`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::continue_job::function())
}
