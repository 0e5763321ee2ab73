//! The Lambda `list-standing-orders`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::list_standing_orders::PATTERN.function)
}
