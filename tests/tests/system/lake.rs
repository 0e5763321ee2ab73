//! Tests the lake on the local stack, and the exporter against an emulator of Firehose and S3 that
//! injects faults.

mod binaries;
mod driver;
mod events;
mod exports;
mod faults;
mod packing;
mod settings;
mod stack;
mod stub;
