//! The Lambda `get-merchant`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::get_merchant::function())
}
