//! `local event`: prints an event, or the names of all events.
use super::{CliError, EventOptions};
use events::Events;

pub(super) fn print(options: EventOptions) -> Result<(), CliError> {
    let events = Events::of(options.folder);
    match options.name {
        Some(name) => println!("{:#}", events.event(&name)?),
        None => events.names()?.iter().for_each(|name| println!("{name}")),
    }
    Ok(())
}
