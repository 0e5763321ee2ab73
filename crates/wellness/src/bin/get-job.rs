//! The Lambda `get-job`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::get_job::function())
}
