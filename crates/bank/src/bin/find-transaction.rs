//! The Lambda `find-transaction`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::find_transaction::PATTERN.function)
}
