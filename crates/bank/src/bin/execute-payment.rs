//! The Lambda `execute-payment`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::execute_payment::PATTERN.function)
}
