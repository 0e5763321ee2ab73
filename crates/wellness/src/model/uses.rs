//! Requests about the references to one venue.

use crate::{
    Reference, Wellness,
    model::{
        period::{QUERY, between},
        reference::VenuePath,
        sizes::{MAX_REFERENCE, must_fit},
    },
};
use function::{Error, Fields, Input};
use futures::future::try_join;
use keys::{
    Bound, Bounds, Random, TimestampSeconds,
    wellness::{ActivityId, CompanyId, FacetRef, Period, PlanBound, ReferencePartition, Status, UseSort},
};
use table::{Condition, JsonText, Query, Value};

/// A request about the references to a venue in activities that end within a period.
#[derive(Debug, Clone, Input)]
#[input(check = must_be_in_order(from, to))]
pub(crate) struct Uses {
    #[input(path = "companyId")]
    pub(crate) company: CompanyId,
    #[input(part, via = VenuePath)]
    pub(crate) of: FacetRef,
    /// Earliest end of an activity, inclusive. The default is today.
    #[input(query)]
    from: Option<PlanBound>,
    /// Latest end of an activity, inclusive. The default is no limit. A date includes the whole
    /// day.
    #[input(query)]
    to: Option<PlanBound>,
}

/// The statuses of activities whose references may change. The references of cancelled and
/// completed activities are history and keep their data.
///
/// An activity usually changes from draft to active, so a pass reads the drafts first.
pub(crate) const OPEN: [Status; 2] = [Status::Draft, Status::Active];

fn must_be_in_order(fields: &mut Fields, from: Option<&PlanBound>, to: Option<&PlanBound>) {
    if let (Some(from), Some(to)) = (from, to) {
        between(fields, QUERY, *from, *to);
    }
}

impl Uses {
    /// Returns the requested period. By default, it starts today at 00:00 UTC and has no end.
    ///
    /// # Errors
    /// 400 if the period ends before it starts.
    pub(crate) fn period(&self, now: TimestampSeconds) -> Result<Period, Error> {
        let from = self.from.unwrap_or(now.day().into());
        let bounds = Bounds::new(Some(from.into()), self.to.map(Bound::from));
        let fault = || Error::invalid("/query/to", "must not be before from, which defaults to today");
        bounds.map(Period::within).ok_or_else(fault)
    }

    /// Returns the part of the requested period with the activities that may not have ended. The
    /// others are completed.
    ///
    /// # Errors
    /// 400 if the whole period has ended.
    pub(crate) fn open_period(&self, now: TimestampSeconds) -> Result<Period, Error> {
        let fault = || {
            Error::invalid("/query/to", "must not be in the past, because completed activities keep their references")
        };
        let period = self.period(now)?;
        // A period after the last stored time has nothing to change.
        if period.is_empty() { Ok(period) } else { period.open_at(now).ok_or_else(fault) }
    }

    /// Returns the request as text for the fingerprint. The text omits the default start, because
    /// the default changes every day.
    pub(crate) fn asked(&self) -> String {
        let bounds = Bounds::new(self.from.map(Bound::from), self.to.map(Bound::from)).unwrap_or_default();
        let text = |time: Option<TimestampSeconds>| time.map(|time| time.to_string()).unwrap_or_default();
        let (from, to) = bounds.seconds();
        format!("{} {}/{}", self.of, text(from), text(to))
    }

    pub(crate) fn partition(&self) -> ReferencePartition {
        ReferencePartition { company: self.company.clone(), of: self.of.clone() }
    }

    /// Checks that a reference with this data does not exceed the maximum size.
    ///
    /// # Errors
    /// 413 if the reference is too large.
    pub(crate) fn must_have_room_for(
        &self,
        of: &FacetRef,
        data: &JsonText,
        now: TimestampSeconds,
        random: &Random,
    ) -> Result<(), Error> {
        // All generated activity ids have the same length, and no status name is longer than
        // `cancelled`.
        let activity = ActivityId::new(now.instant(), random);
        let place = UseSort { status: Status::Cancelled, end: now.into(), activity };
        must_fit(&Reference::new(self.company.clone(), of.clone(), place, data.clone()), MAX_REFERENCE)
    }
}

impl Wellness {
    /// Counts the references to change at the time `now`. References whose data equals `other_than`
    /// are not counted.
    ///
    /// # Errors
    /// 400 if the whole period has ended.
    pub(crate) async fn count_uses(
        &self,
        uses: &Uses,
        other_than: Option<&JsonText>,
        now: TimestampSeconds,
    ) -> Result<u64, Error> {
        let period = uses.open_period(now)?;
        let all = self.count_within(uses, period, other_than).await?;
        let Some(over) = period.over_today(now) else { return Ok(all) };
        Ok(all.saturating_sub(self.count_within(uses, over, other_than).await?))
    }

    async fn count_within(&self, uses: &Uses, period: Period, other_than: Option<&JsonText>) -> Result<u64, Error> {
        let other_than = other_than.map(Value::of).transpose()?;
        let count = async |status| {
            let range = UseSort::within(status, period);
            let query = Query::new(&uses.partition(), &range).on(&self.lists);
            match &other_than {
                Some(data) => {
                    self.table.count(&query.only_if(Condition::is_not(Reference::COPIED_DATA, data.clone()))).await
                }
                None => self.table.count(&query).await,
            }
        };
        let [draft, active] = OPEN.map(count);
        let (draft, active) = Box::pin(try_join(draft, active)).await?;
        Ok(draft + active)
    }
}
