//! The Lambda `list-orders-by-status`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::list_orders_by_status::PATTERN.function)
}
