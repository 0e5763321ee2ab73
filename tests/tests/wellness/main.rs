//! Tests of the wellness service, over HTTP and by invoking its functions.
#![expect(clippy::expect_used, reason = "a test may stop here")]

mod changes;
mod cost;
mod create;
mod employees;
mod isolation;
mod jobs;
mod lists;
mod references;
mod requests;
