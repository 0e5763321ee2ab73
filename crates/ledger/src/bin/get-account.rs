//! The Lambda `get-account`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::get_account::function())
}
