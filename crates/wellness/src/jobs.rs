//! Jobs: changes that are too large for one request.

pub(crate) mod change_references;
pub(crate) mod depart;
pub(crate) mod enrol;
pub(crate) mod erase;
pub(crate) mod export;
pub(crate) mod follow_end;
pub(crate) mod group_progress;
pub(crate) mod import;
pub(crate) mod passes;
pub(crate) mod places;
pub(crate) mod receive;
pub(crate) mod report;
pub(crate) mod rewards;
pub(crate) mod seats;
pub(crate) mod start;
