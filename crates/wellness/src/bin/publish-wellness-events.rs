//! The Lambda `publish-wellness-events`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::publish_wellness_events::PATTERN.function)
}
