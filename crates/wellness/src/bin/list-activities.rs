//! The Lambda `list-activities`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::list_activities::function())
}
