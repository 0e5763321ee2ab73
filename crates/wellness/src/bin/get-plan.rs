//! The Lambda `get-plan`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_plan::PATTERN.function)
}
