//! The Lambda `list-activities`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::list_activities::function())
}
