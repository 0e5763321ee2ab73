//! The local stack: API, functions, DynamoDB, streams and the lake in one process. The process
//! listens only on the loopback interface.
//!
//! The local stack reads template.yaml and its nested stacks. The gateway converts each request to
//! an API Gateway event, and calls the same function as the Lambda binary. Only the event loop of
//! the Lambda runtime is not used (docs/decisions/local-stack.md).
mod auth;
pub mod calls;
pub mod cli;
mod client;
mod console;
mod domains;
mod engine;
pub mod events;
mod follower;
mod gateway;
pub mod hostile;
#[doc(hidden)]
pub mod in_process;
mod lake;
mod lambda;
mod nearest;
mod notifier;
mod remote;
mod role;
mod schedule;
mod server;
mod stack;
mod store;
pub mod template;
mod usage;
mod world;

pub use auth::{Auth, Claims, TokenError, Tokens};
pub use domains::{Domain, domains, functions};
pub use hostile::Rates;
pub use lambda::Handler;
pub use server::Near;
pub use stack::{Builder, Stack, StartError};
pub use usage::CONSUMED;
pub use world::WorldError;
