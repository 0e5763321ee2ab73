//! The Lambda `add-cart-item`.

fn main() -> std::process::ExitCode {
    function::run(&cart::add_cart_item::function())
}
