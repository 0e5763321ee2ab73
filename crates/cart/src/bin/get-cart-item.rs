//! The Lambda `get-cart-item`.

fn main() -> Result<(), function::StartError> {
    function::run(&cart::get_cart_item::function())
}
