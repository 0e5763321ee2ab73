//! The Lambda `correct-points`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::correct_points::PATTERN.function)
}
