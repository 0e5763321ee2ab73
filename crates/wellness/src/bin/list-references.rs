//! The Lambda `list-references`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::list_references::function())
}
