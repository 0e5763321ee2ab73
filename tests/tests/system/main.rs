//! System tests: the templates, the documents and the binaries of all services, and the crate
//! `table`.
#![expect(clippy::expect_used, reason = "a test may stop here")]

mod binaries;
mod dependencies;
mod docs;
mod events;
mod jobs;
mod named_queries;
mod openapi;
mod permissions;
mod randomness;
mod registry;
mod smoke;
mod table_calls;
