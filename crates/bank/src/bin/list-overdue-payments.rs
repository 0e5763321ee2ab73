//! The Lambda `list-overdue-payments`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::list_overdue_payments::PATTERN.function)
}
