//! A deterministic simulation of all services (docs/simulation.md).
//!
//! A case has a seed. It runs clients, functions, stream pollers, schedules and jobs on one thread
//! with a virtual clock. The seed chooses all latencies and faults, and with them the interleaving
//! (docs/decisions/simulation.md).
#![allow(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

pub mod case;
pub use local::in_process::clock;
mod costs;
pub mod draw;
pub mod faults;
pub mod linear;
pub mod shrink;
pub mod story;
pub mod trace;
pub mod workloads;
pub mod world;
