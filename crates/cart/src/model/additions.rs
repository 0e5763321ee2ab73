use crate::{Cart, Line, MAX_LINES, store::unexpired};
use function::{Error, Problem};
use jiff::SignedDuration;
use keys::{
    AccountId, RequestId, Sku, TimestampMillis,
    cart::{CartSort, ItemId, LineSort, Status},
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Change, Condition, Item, Key, Query};

/// The item that every addition to a cart changes: additions to one cart happen one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Additions {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: CartSort,
    /// The request that added last: never the same again, unlike a count that starts anew after TTL.
    last: RequestId,
    /// What was added last, the latest at the end.
    recent: Vec<LineSort>,
    expires_at: i64,
}

impl Item for Additions {
    const TYPE: &'static str = "Cart";
}

/// Additions that are remembered: more than can be made while one of them is still on its way to its line.
const MAX_RECENT: usize = 8;

/// How long an addition may be on its way.
const SETTLING: SignedDuration = SignedDuration::from_mins(1);

/// A cart as it was read.
#[derive(Debug)]
pub(crate) struct Seen {
    additions: Option<Additions>,
    /// Its ACTIVE lines that have not expired.
    pub(crate) lines: Vec<Line>,
}

impl Cart {
    /// The last additions to the cart. To be read before the lines: whatever is added later shows in it.
    pub(crate) async fn additions(&self, account: &AccountId) -> Result<Option<Additions>, Error> {
        Ok(self.table.get(&Key::new(account, &CartSort)).await?)
    }

    /// The ACTIVE lines, strongly consistent, and none missing that these additions made.
    ///
    /// A query is no snapshot: a transaction may have reached the cart's own item and not yet its line. What was added just
    /// now must be among the lines, or its pointer must say that it went elsewhere; `known` is a line that did.
    pub(crate) async fn look(
        &self,
        account: &AccountId,
        additions: Option<Additions>,
        known: Option<ItemId>,
        now: TimestampMillis,
    ) -> Result<Seen, Error> {
        let clock = additions.as_ref().map_or(now, |additions| additions.clock(now));
        let range = LineSort::with_status(Status::Active);
        let query = Query::new(account, &range).only_if(unexpired(clock));
        let seen = Seen { lines: self.table.query_all(&query).await?, additions };
        for added in seen.unexplained(now).filter(|added| known != Some(added.item)) {
            let pointer = self.pointer(account, added.item).await?.ok_or_else(Error::stale)?;
            let elsewhere = pointer.line != *added && pointer.line.since >= added.since;
            if !elsewhere && pointer.is_live(clock) {
                return Err(Error::stale());
            }
        }
        Ok(seen)
    }

    /// An addition, if there was none since the cart was read.
    pub(crate) fn addition(
        &self,
        seen: &Seen,
        line: &Line,
        last: RequestId,
        now: TimestampMillis,
    ) -> Result<Change, Error> {
        let mut recent = seen.additions.as_ref().map_or_else(Vec::new, |additions| additions.recent.clone());
        recent.drain(..recent.len().saturating_sub(MAX_RECENT - 1));
        recent.push(line.sort);
        let (account, expires_at) = (line.account.clone(), self.days.and_one().after(now));
        let additions = Additions { account, sort: CartSort, last, recent, expires_at };
        Ok(match &seen.additions {
            Some(seen) => self.table.replace(&additions)?.only_if(Condition::is(Additions::LAST, &seen.last)),
            None => self.table.put_new(&additions)?,
        })
    }

    /// Holds while nothing was added since the cart was read.
    pub(crate) fn nothing_added(&self, account: &AccountId, seen: Option<&Additions>) -> Change {
        let key = Key::new(account, &CartSort);
        match seen {
            Some(seen) => self.table.present(key).only_if(Condition::is(Additions::LAST, &seen.last)),
            None => self.table.absent(key),
        }
    }

    /// As [`Cart::transition`], for a line that stays in the cart. Its life is renewed only while nothing is added: by the
    /// clock of who adds, the line may be gone.
    pub(crate) fn change_in_cart(
        &self,
        old: &Line,
        new: &Line,
        seen: Option<&Additions>,
    ) -> Result<Vec<Change>, Error> {
        let mut changes = self.transition(old, new)?;
        if old.expires_at != new.expires_at {
            changes.push(self.nothing_added(&old.account, seen));
        }
        Ok(changes)
    }
}

impl Seen {
    pub(crate) fn additions(&self) -> Option<&Additions> {
        self.additions.as_ref()
    }

    /// The line of the product.
    pub(crate) fn line_of(&self, sku: &Sku) -> Option<&Line> {
        self.lines.iter().find(|line| line.sku == *sku)
    }

    /// Refuses so many more lines where the cart has no room for them.
    pub(crate) fn must_have_room_for(&self, more: usize) -> Result<(), Error> {
        if self.lines.len() + more <= MAX_LINES {
            return Ok(());
        }
        let detail =
            format!("A cart has {MAX_LINES} active lines at most, so that it can be bought in one transaction.");
        Err(Error::Conflict(Problem::CartFull, detail))
    }

    /// Lines that were added within the last minute and are not among those that were read.
    fn unexplained(&self, now: TimestampMillis) -> impl Iterator<Item = &LineSort> {
        let recent = self.additions.iter().flat_map(|additions| &additions.recent);
        let is_settling = move |added: &&LineSort| now.instant().duration_since(added.since.instant()) < SETTLING;
        let is_there =
            |added: &LineSort| self.lines.iter().any(|line| line.id() == added.item && line.sort.since >= added.since);
        recent.filter(is_settling).filter(move |added| !is_there(added))
    }
}

impl Additions {
    /// The time by which the cart's lines are judged: the request's, or that of the last addition where another clock was
    /// ahead. What has expired for who added has expired for all.
    pub(crate) fn clock(&self, now: TimestampMillis) -> TimestampMillis {
        self.recent.last().map_or(now, |last| last.since.max(now))
    }
}
