//! The Lambda `get-cart-item`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::get_cart_item::PATTERN.function)
}
