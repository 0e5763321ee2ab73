//! The Lambda `get-cart-job`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::get_cart_job::PATTERN.function)
}
