use std::fmt;

/// Capacity in read or write units, exact to the half unit that an eventual read costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Units {
    halves: u64,
}

impl fmt::Display for Units {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.halves % 2 {
            0 => write!(out, "{}", self.halves / 2),
            _ => write!(out, "{}.5", self.halves / 2),
        }
    }
}

/// What one DynamoDB call consumed on one table or index.
#[derive(Debug, Clone)]
pub struct Call {
    /// The API action, such as `Query`.
    pub action: &'static str,
    /// The key condition of a query, for people to read.
    pub condition: Option<String>,
    /// The table.
    pub table: String,
    /// The index, or none for the base table.
    pub index: Option<String>,
    /// Read units.
    pub read: Units,
    /// Write units.
    pub write: Units,
}

/// What one invocation did to DynamoDB.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// Every call, a row for each table or index that it touched.
    pub calls: Vec<Call>,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Conditions that failed and transactions that met another.
    pub conflicts: u64,
}
