//! The Lambda `retry-import`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::retry_import::PATTERN.function)
}
