//! The Lambda `list-cart-items`.

fn main() -> std::process::ExitCode {
    function::run(&cart::list_cart_items::function())
}
