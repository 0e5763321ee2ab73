//! The Lambda `add-reference`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::add_reference::PATTERN.function)
}
