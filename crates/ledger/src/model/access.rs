use crate::DOMAIN;
use function::{Caller, Error, Fingerprint};
use keys::ledger::UserId;
use table::Item;

/// Returns the caller's user id. Each account stores the user id of its owner.
///
/// # Errors
/// Returns 403 if the caller has no valid subject.
pub(crate) fn user(caller: &Caller) -> Result<UserId, Error> {
    caller.subject.parse().map_err(|_| Error::Forbidden)
}

/// An item whose id is derived from the caller and the idempotency key. A retry finds the item of
/// the first request.
pub(crate) trait IdempotentItem: Item {
    /// The fingerprint of the request that created the item.
    fn request(&self) -> &Fingerprint;
}

/// The error for a missing item: 404 for operators, 403 for other callers. Only operators may find
/// out whether an id exists.
pub(crate) fn missing(what: &'static str, caller: &Caller) -> Error {
    if caller.operates(DOMAIN) { Error::NotFound(what) } else { Error::Forbidden }
}
