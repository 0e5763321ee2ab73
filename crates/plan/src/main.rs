//! Prints the plan of the bank's day.

fn main() {
    print!("{}", plan::of_command_line());
}
