//! Bank.

/// Every function of the domain by the name of its binary.
#[must_use]
pub fn functions() -> Vec<(&'static str, function::Function)> {
    Vec::new()
}
