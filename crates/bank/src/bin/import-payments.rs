//! The Lambda `import-payments`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::import_payments::PATTERN.function)
}
