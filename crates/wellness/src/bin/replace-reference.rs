//! The Lambda `replace-reference`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::replace_reference::function())
}
