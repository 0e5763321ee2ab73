//! The Lambda `update-account`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::update_account::function())
}
