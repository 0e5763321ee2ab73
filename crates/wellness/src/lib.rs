//! The activities of a multi-tenant wellness programme (seed 002): each access pattern a module, and a Lambda of the same name
//! in `src/bin`.
//!
//! An activity is an item collection: the row `Program`, its parts, its references to venues and the like, and beside those
//! the registrations of employees. What changes more items than a transaction takes is a job.
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

/// The domain's name in scopes: `wellness:read`, `wellness:write`, `wellness:admin`, `wellness:operate`.
pub(crate) const DOMAIN: &str = "wellness";
