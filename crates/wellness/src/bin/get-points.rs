//! The Lambda `get-points`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::get_points::PATTERN.function)
}
