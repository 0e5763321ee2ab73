//! The Lambda `list-templates`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::list_templates::function())
}
