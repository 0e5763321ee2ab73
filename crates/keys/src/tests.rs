//! Tests of the properties that every key must have.

mod golden;
mod properties;
mod random;
mod wellness;
