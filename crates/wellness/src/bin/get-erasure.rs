//! The Lambda `get-erasure`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_erasure::PATTERN.function)
}
