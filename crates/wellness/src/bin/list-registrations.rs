//! The Lambda `list-registrations`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::list_registrations::function())
}
