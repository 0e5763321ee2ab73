//! The Lambda `list-references`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::list_references::function())
}
