//! The Lambda `list-orders`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::list_orders::PATTERN.function)
}
