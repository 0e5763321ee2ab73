//! The Lambda `list-activity-options`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::list_activity_options::PATTERN.function)
}
