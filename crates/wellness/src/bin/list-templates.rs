//! The Lambda `list-templates`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::list_templates::function())
}
