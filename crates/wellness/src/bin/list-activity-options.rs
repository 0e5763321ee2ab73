//! The Lambda `list-activity-options`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::list_activity_options::function())
}
