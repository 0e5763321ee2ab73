//! The Lambda `put-plan`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::put_plan::PATTERN.function)
}
