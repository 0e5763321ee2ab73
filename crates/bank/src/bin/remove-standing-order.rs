//! The Lambda `remove-standing-order`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::remove_standing_order::PATTERN.function)
}
