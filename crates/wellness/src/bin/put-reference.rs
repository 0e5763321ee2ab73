//! The Lambda `put-reference`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::put_reference::PATTERN.function)
}
