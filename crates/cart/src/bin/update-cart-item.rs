//! The Lambda `update-cart-item`.

fn main() -> Result<(), function::StartError> {
    function::run(&cart::update_cart_item::function())
}
