//! The Lambda `list-activity-options`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::list_activity_options::function())
}
