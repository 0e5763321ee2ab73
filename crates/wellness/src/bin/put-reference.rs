//! The Lambda `put-reference`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::put_reference::function())
}
