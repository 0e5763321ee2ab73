//! The Lambda `plan-refresh`.

fn main() -> std::process::ExitCode {
    function::run(lake::patterns::plan_refresh::PATTERN.function)
}
