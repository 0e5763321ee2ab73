//! The Lambda `create-activity`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::create_activity::PATTERN.function)
}
