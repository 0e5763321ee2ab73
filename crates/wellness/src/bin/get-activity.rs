//! The Lambda `get-activity`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_activity::PATTERN.function)
}
