//! The Lambda `update-payment-status`.

fn main() -> std::process::ExitCode {
    function::run(&bank::update_payment_status::function())
}
