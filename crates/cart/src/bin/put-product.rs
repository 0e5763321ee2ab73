//! The Lambda `put-product`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::put_product::PATTERN.function)
}
