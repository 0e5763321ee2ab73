//! The Lambda `update-reference`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::update_reference::PATTERN.function)
}
