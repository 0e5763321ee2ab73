//! The Lambda `create-template`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::create_template::PATTERN.function)
}
