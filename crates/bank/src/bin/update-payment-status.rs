//! The Lambda `update-payment-status`.

fn main() -> Result<(), function::StartError> {
    function::run(&bank::update_payment_status::function())
}
