use crate::{Line, model::pointer::Pointer};
use function::{App, Clients, Error, SettingsReader};
use keys::{
    AccountId, TimestampMillis,
    cart::{ItemId, ItemSort, LineSort},
};
use table::{Change, Condition, Dynamo, Index, Key, MAX_CHANGES, Query, Table};

/// Lines that may be ACTIVE in one cart: each takes three changes of the one transaction that buys them all, beside the
/// cart's own item and the idempotency record.
pub const MAX_LINES: usize = (MAX_CHANGES - 2) / 3;

/// Looks at where a line is while it is moved about.
const MAX_LOOKS: usize = 5;

/// What every function of the domain works with.
#[derive(Debug, Clone)]
pub struct Cart {
    pub(crate) dynamo: Dynamo,
    pub(crate) table: Table,
    /// `GSI1`: the lines by product.
    pub(crate) by_sku: Index,
    /// Days that a line stays in a cart that is left alone.
    pub(crate) days: Days,
}

/// Whole days, 1 to 3,650.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Days(i64);

impl std::str::FromStr for Days {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let days = text.parse().ok().filter(|days| (1..=3_650).contains(days));
        days.map(Self).ok_or("must be a number of days from 1 to 3650")
    }
}

impl Days {
    /// So many days after, in seconds since 1970.
    pub(crate) fn after(self, now: TimestampMillis) -> i64 {
        now.second().plus_days(self.0).instant().as_second()
    }

    /// A day more, so that a change renews a line's life only where the last renewal is a day old.
    pub(crate) fn and_one(self) -> Self {
        Self(self.0 + 1)
    }

    /// A week: what keeps a removed line.
    pub(crate) const WEEK: Self = Self(7);
}

impl App for Cart {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let (table, days) = (settings.get::<String>("CART_TABLE"), settings.get("CART_DAYS"));
        let by_sku = Index { name: "GSI1".into(), partition: Line::INDEX_PARTITION, sort: Line::INDEX_SORT };
        let dynamo = clients.dynamo();
        Some(Self { dynamo: dynamo.clone(), table: dynamo.table(table?), by_sku, days: days? })
    }
}

/// Calls that open the connection before the first event. What they answer does not matter, and a
/// failure shows again, with its reason, at the first event.
impl Cart {
    pub(crate) async fn warm_by_get(self) {
        let _ = self.table.get_eventually::<Line>(&Key::placeholder()).await;
    }

    pub(crate) async fn warm_by_query(self) {
        let _ = self.table.page::<Line>(&Query::new(&"#", &LineSort::nothing()), 1).await;
    }

    pub(crate) async fn warm_by_index(self) {
        let _ = self.table.page::<Line>(&Query::new(&"#", &LineSort::nothing()).on(&self.by_sku), 1).await;
    }
}

impl Cart {
    /// The line of that id, strongly consistent, as customers see it.
    ///
    /// # Errors
    /// 404 where there is none, or it has expired, or nobody sees it any more.
    pub(crate) async fn locate(&self, account: &AccountId, item: ItemId, now: TimestampMillis) -> Result<Line, Error> {
        for _ in 0..MAX_LOOKS {
            let found = self.pointer(account, item).await?;
            let found = found.filter(|pointer| pointer.line.status.is_listed() && pointer.is_live(now));
            let pointer = found.ok_or(Error::NotFound("cart item"))?;
            if let Some(line) = self.table.get::<Line>(&pointer.line_key()).await? {
                return if line.is_live(now) { Ok(line) } else { Err(Error::NotFound("cart item")) };
            }
            // It moved between the two reads, or a transaction had reached one of the two items and not yet the other.
        }
        Err(Error::stale())
    }

    /// Where the line of that id is.
    pub(crate) async fn pointer(&self, account: &AccountId, item: ItemId) -> Result<Option<Pointer>, Error> {
        Ok(self.table.get(&Key::new(account, &ItemSort(item))).await?)
    }

    /// What puts a new line into the table.
    pub(crate) fn insertion(&self, line: &Line) -> Result<Vec<Change>, Error> {
        Ok(vec![self.table.put_new(line)?, self.table.put_new(&Pointer::to(line))?])
    }

    /// What makes the line, as it was read, the next version of it: a change in place where its key stays, else a delete
    /// and a put; the pointer along with both its key and its life. Done in a transaction even where it is one change: the
    /// token of a transaction makes a retry of the SDK, after an answer that was lost, the same change and not another.
    pub(crate) fn transition(&self, old: &Line, new: &Line) -> Result<Vec<Change>, Error> {
        let unchanged = Condition::is(Line::VERSION, old.version);
        let (was, is) = (Pointer::to(old), Pointer::to(new));
        let mut changes = if old.sort == new.sort {
            vec![self.table.replace(new)?.only_if(unchanged)]
        } else {
            vec![self.table.delete(old.key()).only_if(unchanged), self.table.put_new(new)?]
        };
        if was != is {
            changes.push(self.table.replace(&is)?.only_if(Condition::is(Pointer::LINE, &old.sort)));
        }
        Ok(changes)
    }
}

/// What holds of lines that have not expired: TTL deletes the others hours or days later.
pub(crate) fn unexpired(now: TimestampMillis) -> Condition {
    Condition::missing_or_over(Line::EXPIRES_AT, now.second().instant().as_second())
}
