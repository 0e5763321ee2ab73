//! The Lambda `receive-file`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::receive_file::PATTERN.function)
}
