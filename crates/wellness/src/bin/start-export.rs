//! The Lambda `start-export`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::start_export::PATTERN.function)
}
