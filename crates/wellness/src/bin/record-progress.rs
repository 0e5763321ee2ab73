//! The Lambda `record-progress`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::record_progress::function())
}
