//! The Lambda `list-transactions-by-date`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::list_transactions_by_date::PATTERN.function)
}
