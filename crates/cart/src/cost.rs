use table::{
    Units,
    cost::{read, read_eventually, write},
};

/// An access pattern of the domain.
pub type Pattern = function::Pattern<Case>;

/// The calls of one of its access patterns.
pub(crate) type Calls = function::Calls<Case>;

/// The input of a cost: sizes in bytes, counts of items.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// A line.
    pub line: usize,
    /// Lines that the list returns, the checkout buys, or are ACTIVE already when one is added.
    pub lines: usize,
    /// The idempotency record, where the request had an `Idempotency-Key`.
    pub record: Option<usize>,
}

/// Places where units are consumed.
pub(crate) const CART: &str = "Cart";
pub(crate) const BY_SKU: &str = "Cart/GSI1";

impl Case {
    pub(crate) fn line_write(&self) -> Units {
        write(self.line)
    }

    /// A line and its pointer, found by the item id. A pointer is smaller than one unit of anything.
    pub(crate) fn locate(&self) -> Units {
        Units::whole(1) + read(self.line)
    }

    /// The old line deleted, the new one put, and the pointer, before the transaction doubles it.
    pub(crate) fn moved(&self) -> Units {
        self.line_write().times(2) + Units::whole(1)
    }

    /// A page of lines.
    pub(crate) fn listed(&self) -> Units {
        read_eventually(self.line * self.lines)
    }

    /// The cart's own item and its ACTIVE lines, strongly consistent.
    pub(crate) fn looked_at(&self) -> Units {
        Units::whole(1) + read(self.line * self.lines)
    }

    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.lines).unwrap_or(u64::MAX)
    }

    /// Looks whether the request came before: there is no record, which costs a unit.
    pub(crate) fn record_read(&self) -> Units {
        Units::whole(u64::from(self.record.is_some()))
    }

    /// The record, before the transaction doubles it.
    pub(crate) fn record_write(&self) -> Units {
        self.record.map_or(Units::ZERO, write)
    }
}
