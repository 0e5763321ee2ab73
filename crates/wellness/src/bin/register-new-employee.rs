//! The Lambda `register-new-employee`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::register_new_employee::function())
}
