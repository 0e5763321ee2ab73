//! The Lambda `get-payment`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::get_payment::PATTERN.function)
}
