//! The Lambda `get-product`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::get_product::PATTERN.function)
}
