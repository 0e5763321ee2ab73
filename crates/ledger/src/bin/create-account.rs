//! The Lambda `create-account`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::create_account::function())
}
