//! The Lambda `get-template`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_template::PATTERN.function)
}
