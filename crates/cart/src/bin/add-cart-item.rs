//! The Lambda `add-cart-item`.

fn main() -> Result<(), function::StartError> {
    function::run(&cart::add_cart_item::function())
}
