//! The Lambda `update-part`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::update_part::PATTERN.function)
}
