//! How large items may be.

use function::Error;
use table::Item;

/// The largest row `Program`, in bytes: every list of the company carries it. Beside the section and the few digits
/// that later changes add.
pub(crate) const MAX_ROW: usize = 8 * 1024;
/// The largest part.
pub(crate) const MAX_PART: usize = 16 * 1024;
/// The largest reference, and the largest record that one is copied from: thousands are changed in one go.
pub(crate) const MAX_REFERENCE: usize = 4 * 1024;

/// The largest template: a page of 100 is less than the 6 MB that a Lambda answers.
pub(crate) const MAX_TEMPLATE: usize = 48 * 1024;

/// Refuses an item that is larger than that with its keys.
///
/// # Errors
/// 413.
pub(crate) fn must_fit<T: Item>(item: &T, most: usize) -> Result<(), Error> {
    if table::size(item)? <= most {
        return Ok(());
    }
    Err(Error::TooLarge(format!("{} is at most {} KB with its keys.", T::TYPE, most / 1024)))
}
