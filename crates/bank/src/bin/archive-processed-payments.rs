//! The Lambda `archive-processed-payments`.

fn main() -> std::process::ExitCode {
    function::run(&bank::archive_processed_payments::function())
}
