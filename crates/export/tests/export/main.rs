//! The export against a stand-in for Firehose and S3 that fails in every way it can.
#![expect(clippy::expect_used, reason = "a test may stop here")]

mod binary;
mod driver;
mod events;
mod faults;
mod model;
mod packing;
mod settings;
mod stub;
