//! The Lambda `list-references-of-facet`.

fn main() -> std::process::ExitCode {
    function::run(wellness::patterns::list_references_of_facet::PATTERN.function)
}
