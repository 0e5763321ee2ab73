//! Tests the lake on the local stack, and the exporter against an emulator of Firehose and S3 that
//! injects faults.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod binary;
mod driver;
mod events;
mod exports;
mod faults;
mod model;
mod packing;
mod settings;
mod stack;
mod stub;
