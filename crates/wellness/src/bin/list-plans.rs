//! The Lambda `list-plans`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::list_plans::PATTERN.function)
}
