//! The Lambda `get-employee`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_employee::PATTERN.function)
}
