//! The whole stack in one process, on loopback only, read from template.yaml and the stacks that it nests.
//!
//! A request becomes the very event that API Gateway sends, and runs the same service that a Lambda's `main` hands to
//! the runtime: only the runtime's own loop is left out.
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
