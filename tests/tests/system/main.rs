//! Tests that are not specific to one service: templates, documents, binaries, jobs and the crate
//! `table`.
#![expect(clippy::expect_used, reason = "a test may stop here")]

mod binaries;
mod dependencies;
mod docs;
mod events;
mod faults;
mod hostile;
mod http_page;
mod inputs;
mod jobs;
mod lake_tables;
mod named_queries;
mod openapi;
mod permissions;
mod prose;
mod randomness;
mod registry;
mod smoke;
mod suite;
mod table_calls;
mod tenants;
mod workbench;
