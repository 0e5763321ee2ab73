//! The Lambda `list-cart-items`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::list_cart_items::PATTERN.function)
}
