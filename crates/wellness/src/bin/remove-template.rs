//! The Lambda `remove-template`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::remove_template::PATTERN.function)
}
