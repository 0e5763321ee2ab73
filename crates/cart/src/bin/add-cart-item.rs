//! The Lambda `add-cart-item`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::add_cart_item::PATTERN.function)
}
