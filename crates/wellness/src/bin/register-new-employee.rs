//! The Lambda `register-new-employee`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::register_new_employee::function())
}
