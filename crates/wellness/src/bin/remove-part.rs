//! The Lambda `remove-part`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::remove_part::PATTERN.function)
}
