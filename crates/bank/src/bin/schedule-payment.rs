//! The Lambda `schedule-payment`.

fn main() -> std::process::ExitCode {
    function::run(&bank::schedule_payment::function())
}
