//! schedule-payment as it is, but for the call before the first event: its connection opens with its first payment.

use bank::{Bank, patterns::schedule_payment::schedule_payment};

fn main() -> std::process::ExitCode {
    function::run(&function::http(schedule_payment, |_: Bank| async {}))
}
