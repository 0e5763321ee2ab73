//! The Lambda `continue-cart-job`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::continue_cart_job::PATTERN.function)
}
