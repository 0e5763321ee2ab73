//! The Lambda `put-section`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::put_section::function())
}
