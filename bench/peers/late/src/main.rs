//! schedule-payment without the call before the first event. It connects with the first payment.

use bank::{Bank, patterns::schedule_payment::schedule_payment};

fn main() -> std::process::ExitCode {
    function::run(&function::http(schedule_payment, |_: Bank| async {}))
}
