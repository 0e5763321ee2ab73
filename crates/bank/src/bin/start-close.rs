//! The Lambda `start-close`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::start_close::PATTERN.function)
}
