//! The Lambda `get-cart-item`.

fn main() -> std::process::ExitCode {
    function::run(&cart::get_cart_item::function())
}
