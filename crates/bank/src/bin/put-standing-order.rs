//! The Lambda `put-standing-order`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::put_standing_order::PATTERN.function)
}
