//! The Lambda `leave-activity`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::leave_activity::PATTERN.function)
}
