//! The Lambda `record-progress`.

fn main() -> std::process::ExitCode {
    function::run(&wellness::record_progress::function())
}
