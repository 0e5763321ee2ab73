//! The Lambda `start-group-progress`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::start_group_progress::PATTERN.function)
}
