//! Tests of the services over HTTP and through their functions, and of what they share: templates,
//! documents, binaries, jobs and the crate `table` (docs/decisions/contract.md).
#![expect(clippy::expect_used, reason = "a test may stop here")]

mod bank;
mod binaries;
mod cart;
mod dependencies;
mod derives;
mod docs;
mod events;
mod faults;
mod hostile;
mod http_page;
mod inputs;
mod issuers;
mod jobs;
mod lake;
mod lake_tables;
mod ledger;
mod openapi;
mod permissions;
mod prose;
mod published;
mod randomness;
mod registry;
mod rooms;
mod smoke;
mod suite;
mod table_calls;
mod tenants;
mod wellness;
mod workbench;
