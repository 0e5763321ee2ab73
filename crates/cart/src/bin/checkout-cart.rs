//! The Lambda `checkout-cart`.

fn main() -> Result<(), function::StartError> {
    function::run(&cart::checkout_cart::function())
}
