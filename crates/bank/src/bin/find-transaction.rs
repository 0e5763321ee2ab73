//! The Lambda `find-transaction`.

fn main() -> std::process::ExitCode {
    function::run(&bank::find_transaction::function())
}
