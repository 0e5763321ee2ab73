//! The Lambda `set-dispatching`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::set_dispatching::PATTERN.function)
}
