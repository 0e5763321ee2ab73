//! The Lambda `put-section`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::put_section::PATTERN.function)
}
