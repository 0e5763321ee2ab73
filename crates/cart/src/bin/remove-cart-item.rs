//! The Lambda `remove-cart-item`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::remove_cart_item::PATTERN.function)
}
