//! The Lambda `replace-reference`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::replace_reference::function())
}
