//! The Lambda `remove-cart-item`.

fn main() -> std::process::ExitCode {
    function::run(&cart::remove_cart_item::function())
}
