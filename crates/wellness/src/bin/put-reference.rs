//! The Lambda `put-reference`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::put_reference::function())
}
