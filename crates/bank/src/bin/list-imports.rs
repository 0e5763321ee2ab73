//! The Lambda `list-imports`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::list_imports::PATTERN.function)
}
