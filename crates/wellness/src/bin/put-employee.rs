//! The Lambda `put-employee`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::put_employee::function())
}
