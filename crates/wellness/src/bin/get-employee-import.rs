//! The Lambda `get-employee-import`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_employee_import::PATTERN.function)
}
