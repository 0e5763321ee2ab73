//! The Lambda `list-due-payments`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::list_due_payments::PATTERN.function)
}
