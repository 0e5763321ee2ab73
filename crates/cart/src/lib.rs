//! A retail cart (seed 003): each access pattern a module, and a Lambda of the same name in `src/bin`.

mod line;

pub use line::{Line, LineBody, MOST_BYTES, Previous, Quantity};
