//! The Lambda `remove-employee`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::remove_employee::PATTERN.function)
}
