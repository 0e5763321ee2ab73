//! The Lambda `list-sku-items`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::list_sku_items::PATTERN.function)
}
