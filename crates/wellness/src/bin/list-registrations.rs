//! The Lambda `list-registrations`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::list_registrations::PATTERN.function)
}
