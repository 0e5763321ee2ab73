//! The Lambda `list-activities`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::list_activities::PATTERN.function)
}
