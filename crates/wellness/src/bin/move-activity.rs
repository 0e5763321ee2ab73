//! The Lambda `move-activity`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::move_activity::function())
}
