//! The Lambda `list-registrations`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::list_registrations::function())
}
