//! The Lambda `get-payment`.

fn main() -> std::process::ExitCode {
    function::run(&bank::get_payment::function())
}
