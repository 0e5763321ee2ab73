//! The Lambda `update-cart-item`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::update_cart_item::PATTERN.function)
}
