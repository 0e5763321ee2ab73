//! The Lambda `update-template`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::update_template::PATTERN.function)
}
