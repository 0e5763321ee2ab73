//! The Lambda `get-standing-order`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::get_standing_order::PATTERN.function)
}
