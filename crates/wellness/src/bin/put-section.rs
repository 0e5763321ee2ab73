//! The Lambda `put-section`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::put_section::function())
}
