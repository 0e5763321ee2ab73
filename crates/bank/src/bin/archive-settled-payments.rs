//! The Lambda `archive-settled-payments`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::archive_settled_payments::PATTERN.function)
}
