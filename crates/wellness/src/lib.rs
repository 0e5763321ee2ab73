//! The activities of a multi-tenant wellness program (docs/requirements/wellness.md).
//!
//! Each access pattern has a module in `src/patterns` and a Lambda function of the same name in
//! `src/bin`.
//!
//! An activity is an item collection: the base row `Program`, the parts, the references, and the
//! registrations of employees. A change that does not fit into one transaction runs as a job.
//!
//! In comments and names, "venue" also means a file, course, tracker or notification. A record is
//! the company's item for a venue. A reference is a row of an activity that points to a venue and
//! contains a copy of the venue's data.
#![deny(clippy::disallowed_methods)]

mod cost;
mod files;
mod jobs;
mod model;
pub mod patterns;
mod registrations;
mod store;

pub use cost::{Case, Pattern};
pub use model::activity::{Activity, ActivityBody, Filters, FiltersBody, Name};
pub use model::award::{Award, Correction, CorrectionBody, Reason};
pub use model::employee::{Employee, EmployeeBody, LastChange};
pub use model::enrolment::Enrolment;
pub use model::groups::{Group, GroupProgress, Groups};
pub use model::job::{Hold, Task, following, job_key};
pub use model::parts::{Detail, Goal, Milestone, Points, Reward};
pub use model::plan::{Plan, Plans};
pub use model::reference::{Record, Reference};
pub use model::registration::{Progress, Registration, RegistrationBody};
pub use model::section::Section;
pub use model::shipped::TemplateSet;
pub use model::template::{Template, TemplateBody};
pub use patterns::patterns;
pub use store::Wellness;

/// The service name. It is the prefix of the scopes `wellness:read`, `wellness:write`,
/// `wellness:admin` and `wellness:operate`.
pub(crate) const DOMAIN: &str = "wellness";
