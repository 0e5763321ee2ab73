//! The Lambda `archive-processed-payments`.

fn main() -> Result<(), function::StartError> {
    function::run(&bank::archive_processed_payments::function())
}
