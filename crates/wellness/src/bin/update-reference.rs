//! The Lambda `update-reference`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::update_reference::function())
}
