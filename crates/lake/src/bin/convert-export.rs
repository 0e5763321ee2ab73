//! The Lambda `convert-export`.

fn main() -> std::process::ExitCode {
    function::run(lake::patterns::convert_export::PATTERN.function)
}
