//! The Lambda `load-templates`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::load_templates::PATTERN.function)
}
