//! The Lambda `publish-cart-events`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::publish_cart_events::PATTERN.function)
}
