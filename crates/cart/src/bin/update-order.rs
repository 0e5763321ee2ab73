//! The Lambda `update-order`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::update_order::PATTERN.function)
}
