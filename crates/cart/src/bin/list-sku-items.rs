//! The Lambda `list-sku-items`.

fn main() -> std::process::ExitCode {
    function::run(&cart::list_sku_items::function())
}
