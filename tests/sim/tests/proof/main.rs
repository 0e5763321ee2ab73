//! Proofs with the deployed functions: the same seed has the same trace, and all orders of the
//! calls of concurrent functions keep the rules.
mod same;
mod seats;
