//! The Lambda `close-day`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::close_day::PATTERN.function)
}
