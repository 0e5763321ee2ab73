//! Tests of the wellness service. They send HTTP requests or invoke the functions directly.

mod changes;
mod cost;
mod create;
mod employees;
mod enrolment;
mod fair;
mod files;
mod groups;
mod import;
mod isolation;
mod jobs;
mod late;
mod lists;
mod model;
mod parts;
mod plans;
mod points;
mod references;
mod report;
mod requests;
mod roles;
mod seats;
mod staff;
mod stored;
mod templates;
mod tenants;
