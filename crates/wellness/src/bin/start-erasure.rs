//! The Lambda `start-erasure`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::start_erasure::PATTERN.function)
}
