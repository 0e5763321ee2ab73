//! The Lambda `get-activity`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::get_activity::function())
}
