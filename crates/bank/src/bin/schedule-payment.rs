//! The Lambda `schedule-payment`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::schedule_payment::PATTERN.function)
}
