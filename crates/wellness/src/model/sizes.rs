//! Maximum item sizes, in bytes.

use function::Error;
use table::Item;

/// Maximum size of the base row, which every list of activities reads. The author does not
/// count. A later section id or version number can make a row slightly larger.
pub(crate) const MAX_ROW: usize = 8 * 1024;
/// Maximum size of a part.
pub(crate) const MAX_PART: usize = 16 * 1024;
/// Maximum size of a reference, and of the record that the reference copies. The limit is low
/// because a job may change thousands of references.
pub(crate) const MAX_REFERENCE: usize = 4 * 1024;

/// Maximum size of a template. A page of 100 templates stays below Lambda's response limit of 6 MB.
pub(crate) const MAX_TEMPLATE: usize = 48 * 1024;

/// Checks an item's size, including its keys.
///
/// # Errors
/// 413 if the item is larger than `most` bytes.
pub(crate) fn must_fit<T: Item>(item: &T, most: usize) -> Result<(), Error> {
    if table::size(item)? <= most {
        return Ok(());
    }
    Err(Error::TooLarge(format!("{} must not exceed {} KB, including its keys.", T::TYPE, most / 1024)))
}
