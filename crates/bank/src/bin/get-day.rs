//! The Lambda `get-day`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::get_day::PATTERN.function)
}
