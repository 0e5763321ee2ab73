//! The Lambda `list-sku-items`.

fn main() -> Result<(), function::StartError> {
    function::run(&cart::list_sku_items::function())
}
