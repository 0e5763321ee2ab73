//! The Lambda `list-cart-items`.

fn main() -> Result<(), function::StartError> {
    function::run(&cart::list_cart_items::function())
}
