//! The Lambda `create-activity`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::create_activity::function())
}
