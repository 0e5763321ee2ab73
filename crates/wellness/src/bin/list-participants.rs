//! The Lambda `list-participants`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::list_participants::PATTERN.function)
}
