//! The Lambda `create-merchant`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::create_merchant::function())
}
