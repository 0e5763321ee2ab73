//! The Lambda `get-report`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_report::PATTERN.function)
}
