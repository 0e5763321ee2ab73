//! The Lambda `move-activity`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::move_activity::PATTERN.function)
}
