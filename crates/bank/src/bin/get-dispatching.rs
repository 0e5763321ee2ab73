//! The Lambda `get-dispatching`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::get_dispatching::PATTERN.function)
}
