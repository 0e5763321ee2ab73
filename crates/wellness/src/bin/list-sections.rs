//! The Lambda `list-sections`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::list_sections::PATTERN.function)
}
