//! The Lambda `move-activity`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::move_activity::function())
}
