//! The Lambda `update-activity`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::update_activity::function())
}
