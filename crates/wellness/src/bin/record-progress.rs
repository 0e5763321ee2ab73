//! The Lambda `record-progress`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::record_progress::PATTERN.function)
}
