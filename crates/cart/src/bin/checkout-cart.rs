//! The Lambda `checkout-cart`.

fn main() -> std::process::ExitCode {
    function::run(&cart::checkout_cart::function())
}
