//! The Lambda `create-file`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::create_file::PATTERN.function)
}
