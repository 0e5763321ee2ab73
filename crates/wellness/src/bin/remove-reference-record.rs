//! The Lambda `remove-reference-record`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::remove_reference_record::PATTERN.function)
}
