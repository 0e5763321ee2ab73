//! The Lambda `join-activity`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::join_activity::PATTERN.function)
}
