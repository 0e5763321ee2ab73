//! The Lambda `export-cart-changes`.

fn main() -> std::process::ExitCode {
    function::run(&export::patterns::export_cart_changes::function())
}
