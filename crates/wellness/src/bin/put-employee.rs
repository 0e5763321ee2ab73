//! The Lambda `put-employee`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::put_employee::function())
}
