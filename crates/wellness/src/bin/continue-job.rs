//! The Lambda `continue-job`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::continue_job::function())
}
