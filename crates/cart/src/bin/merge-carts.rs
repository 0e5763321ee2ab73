//! The Lambda `merge-carts`.

fn main() -> std::process::ExitCode {
    function::run(cart::patterns::merge_carts::PATTERN.function)
}
