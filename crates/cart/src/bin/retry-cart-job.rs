//! The Lambda `retry-cart-job`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::retry_cart_job::PATTERN.function)
}
