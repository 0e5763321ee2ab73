//! The Lambda `create-activity`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::create_activity::function())
}
