//! The Lambda `create-employee-import`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::create_employee_import::PATTERN.function)
}
