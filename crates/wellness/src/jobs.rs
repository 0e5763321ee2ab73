//! Jobs: changes that outlive a request.

pub(crate) mod change_references;
pub(crate) mod follow_end;
pub(crate) mod passes;
pub(crate) mod start;
