//! The activities of a multi-tenant wellness program (docs/requirements/wellness.md).
//!
//! Each access pattern is a module in `src/patterns` and a Lambda of the same name in `src/bin`.
//!
//! An activity is an item collection. The collection contains the base row `Program`, the
//! activity's parts, its references, and the registrations of employees. A change that does not fit
//! into one transaction runs as a job.
//!
//! In comments and names, "venue" also means a file, course, tracker or notification. A reference
//! is the row of an activity with a copy of a venue's data. A record is the company's item for the
//! venue itself.
#![deny(clippy::disallowed_methods)]

mod cost;
mod jobs;
mod model;
pub mod patterns;
mod store;

pub use cost::{Case, Pattern};
pub use model::activity::{Activity, ActivityBody, Filters, FiltersBody, Name};
pub use model::employee::{Employee, EmployeeBody, LastChange};
pub use model::job::{Hold, Task, following, job_key};
pub use model::parts::{Amount, Detail, Goal, Group, Groups, Reward};
pub use model::reference::{Record, Reference};
pub use model::registration::{Progress, Registration, RegistrationBody};
pub use model::section::Section;
pub use model::template::{Template, TemplateBody};
pub use patterns::patterns;
pub use store::Wellness;

/// Service name in scopes: `wellness:read`, `wellness:write`, `wellness:admin`, `wellness:operate`.
pub(crate) const DOMAIN: &str = "wellness";
