//! The Lambda `list-products`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::list_products::PATTERN.function)
}
