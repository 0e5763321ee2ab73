//! The Lambda `list-employees`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::list_employees::PATTERN.function)
}
