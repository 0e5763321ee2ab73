//! The Lambda `start-dispatch`.

fn main() -> std::process::ExitCode {
    function::run(bank::patterns::start_dispatch::PATTERN.function)
}
