//! The Lambda `create-template`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::create_template::function())
}
