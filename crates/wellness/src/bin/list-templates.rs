//! The Lambda `list-templates`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::list_templates::PATTERN.function)
}
