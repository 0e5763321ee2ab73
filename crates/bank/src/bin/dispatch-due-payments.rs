//! The Lambda `dispatch-due-payments`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::dispatch_due_payments::PATTERN.function)
}
