//! The Lambda `get-job`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::get_job::function())
}
