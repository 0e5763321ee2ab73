//! The Lambda `update-reference`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::update_reference::function())
}
