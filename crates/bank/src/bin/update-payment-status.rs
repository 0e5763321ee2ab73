//! The Lambda `update-payment-status`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::update_payment_status::PATTERN.function)
}
