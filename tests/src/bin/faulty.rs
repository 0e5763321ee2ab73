//! A Lambda function that fails on request, to test the runtime.

use function::{App, Clients, Error, Fields, Input, Scheduled, SettingsReader, scheduled};
use std::process::ExitCode;

#[derive(Clone)]
struct Faulty;

impl App for Faulty {
    fn start(_: &mut SettingsReader<'_>, _: &Clients) -> Option<Self> {
        Some(Self)
    }
}

/// The requested failure: `panic`, `memory`, `exit` or none.
struct Wish(Option<String>);

impl Input for Wish {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self(fields.body_if_any("wish")))
    }

    fn describe(_: &mut function::Contract) {}
}

#[expect(clippy::panic, reason = "the function panics on request")]
async fn fulfil(_: Faulty, scheduled: Scheduled<Wish>) -> Result<&'static str, Error> {
    match scheduled.input.0.as_deref() {
        Some("panic") => panic!("a requested panic"),
        Some("memory") => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(vec![1_u8; 16 << 20]);
            }
        }
        Some("exit") => std::process::exit(3),
        _ => Ok("nothing went wrong"),
    }
}

fn main() -> ExitCode {
    function::run(|| scheduled(fulfil, |_| async {}))
}
