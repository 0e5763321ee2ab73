//! The Lambda `start-report`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::start_report::PATTERN.function)
}
