//! The Lambda `export-changes`.

fn main() -> std::process::ExitCode {
    function::run(lake::patterns::export_changes::PATTERN.function)
}
