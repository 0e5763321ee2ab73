//! The Lambda `update-activity`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::update_activity::PATTERN.function)
}
