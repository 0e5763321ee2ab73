//! The local stack: API, functions, DynamoDB, streams and the lake in one process, on loopback.
//!
//! The local stack reads template.yaml and its nested stacks. The gateway converts each request to
//! the event that API Gateway would send, and passes the event to the same function as the binary
//! does. Only the loop of the Lambda runtime is left out (docs/decisions/local-stack.md).
mod auth;
pub mod cli;
mod client;
mod domains;
mod engine;
mod follower;
mod gateway;
mod lake;
mod lambda;
mod remote;
mod role;
mod sample;
mod schedule;
mod server;
mod stack;
mod store;
pub mod template;
mod usage;

pub use auth::{Auth, Claims, TokenError, Tokens};
pub use domains::{Domain, domains, functions};
pub use lambda::Handler;
pub use stack::{Builder, Stack, StartError};
pub use usage::CONSUMED;
