//! The Lambda `replace-reference`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::replace_reference::PATTERN.function)
}
