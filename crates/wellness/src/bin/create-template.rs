//! The Lambda `create-template`.

fn main() -> Result<(), function::StartError> {
    function::run(&wellness::create_template::function())
}
