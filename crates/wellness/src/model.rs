//! The items and their rules.

pub(crate) mod access;
pub(crate) mod activity;
pub(crate) mod award;
pub(crate) mod content;
pub(crate) mod employee;
pub(crate) mod enrolment;
pub(crate) mod groups;
pub(crate) mod import;
pub(crate) mod job;
pub(crate) mod object;
pub(crate) mod option;
pub(crate) mod part;
pub(crate) mod parts;
pub(crate) mod period;
pub(crate) mod plan;
pub(crate) mod reference;
pub(crate) mod registration;
pub(crate) mod report;
pub(crate) mod section;
pub(crate) mod shipped;
pub(crate) mod sizes;
pub(crate) mod template;
pub(crate) mod ticket;
pub(crate) mod upload;
pub(crate) mod uses;
