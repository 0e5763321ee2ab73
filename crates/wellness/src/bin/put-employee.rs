//! The Lambda `put-employee`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::put_employee::PATTERN.function)
}
