//! The Lambda `list-references`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::list_references::PATTERN.function)
}
