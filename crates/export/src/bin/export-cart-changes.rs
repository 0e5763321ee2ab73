//! The Lambda `export-cart-changes`.

fn main() -> Result<(), function::StartError> {
    function::run(&export::export_cart_changes::function())
}
