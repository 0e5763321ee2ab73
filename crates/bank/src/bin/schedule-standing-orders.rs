//! The Lambda `schedule-standing-orders`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::schedule_standing_orders::PATTERN.function)
}
