//! The Lambda `reverse-transaction`.

fn main() -> std::process::ExitCode {
    function::run(&ledger::reverse_transaction::function())
}
