//! The Lambda `list-due-payments`.

fn main() -> std::process::ExitCode {
    function::run(&bank::list_due_payments::function())
}
