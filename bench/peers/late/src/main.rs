//! schedule-payment without a DynamoDB call before the first event. The first payment opens the
//! connection.

use bank::{Bank, patterns::schedule_payment::schedule_payment};

fn main() -> std::process::ExitCode {
    function::run(|| function::http(schedule_payment, |_: Bank| async {}))
}
