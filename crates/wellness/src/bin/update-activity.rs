//! The Lambda `update-activity`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::update_activity::function())
}
