//! The Lambda `record-attendance`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::record_attendance::PATTERN.function)
}
