//! The Lambda `archive-processed-payments`.

fn main() -> std::process::ExitCode {
    function::run(&bank::patterns::archive_processed_payments::function())
}
