//! The Lambda `get-export`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_export::PATTERN.function)
}
