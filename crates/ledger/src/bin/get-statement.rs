//! The Lambda `get-statement`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::get_statement::function())
}
