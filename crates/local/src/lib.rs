//! The local stack: API, functions, DynamoDB, streams and the lake in one process. The process
//! listens only on the loopback interface.
//!
//! The local stack reads template.yaml and its nested stacks. The gateway converts each request to
//! an API Gateway event, and calls the same function as the Lambda binary. Only the event loop of
//! the Lambda runtime is not used (docs/decisions/local-stack.md).
pub mod cli;
mod client;
mod follower;
mod forwarder;
mod gateway;
#[doc(hidden)]
pub mod in_process;
mod lambda;
mod notifier;
mod role;
mod schedule;
mod stack;
mod usage;
mod world;

pub use lambda::Handler;
pub use stack::{Builder, ResetRequest, Stack, StartError};
pub use usage::CONSUMED;
pub use world::WorldError;
