//! The Lambda `schedule-payment`.

fn main() -> Result<(), function::StartError> {
    function::run(&bank::schedule_payment::function())
}
