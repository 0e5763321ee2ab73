//! The Lambda `get-order`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::get_order::PATTERN.function)
}
