//! The Lambda `get-section`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_section::PATTERN.function)
}
