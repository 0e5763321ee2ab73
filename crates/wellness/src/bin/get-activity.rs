//! The Lambda `get-activity`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::get_activity::function())
}
