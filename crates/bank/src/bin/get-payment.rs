//! The Lambda `get-payment`.

fn main() -> Result<(), function::StartError> {
    function::run(&bank::get_payment::function())
}
