//! The Lambda `remove-cart-item`.

fn main() -> Result<(), function::StartError> {
    function::run(&cart::remove_cart_item::function())
}
