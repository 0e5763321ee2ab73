//! The Lambda `remove-reference`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::remove_reference::PATTERN.function)
}
