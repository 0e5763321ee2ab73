//! The Lambda `checkout-cart`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::checkout_cart::PATTERN.function)
}
