//! The Lambda `get-import`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::get_import::PATTERN.function)
}
