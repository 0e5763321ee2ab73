//! The Lambda `register-new-employee`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::register_new_employee::PATTERN.function)
}
