//! The Lambda `get-reference`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_reference::PATTERN.function)
}
