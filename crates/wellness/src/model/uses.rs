//! What requests say of the references to a venue, file, course, tracker or notification.

use crate::{
    Reference, Wellness,
    model::{
        period::between,
        sizes::{MAX_REFERENCE, must_fit},
    },
};
use function::{Error, Fields};
use futures::future::try_join;
use keys::{
    Random, TimestampSeconds,
    wellness::{ActivityId, CompanyId, FacetRef, Period, PlanBound, PlanTime, ReferencePartition, Status, UseSort},
};
use serde_json::value::RawValue;
use table::{Condition, JsonText, Query, Value};

/// The references to one, in activities that end within some time.
#[derive(Debug, Clone)]
pub(crate) struct Uses {
    pub(crate) company: CompanyId,
    pub(crate) of: FacetRef,
    from: Option<PlanBound>,
    to: Option<PlanBound>,
}

/// Where activities stand whose references are changed: the others are history. In the order in which activities go through
/// them, so that a pass comes after those that move on.
pub(crate) const OPEN: [Status; 2] = [Status::Draft, Status::Active];

impl Uses {
    /// `companyId`, `facet` and `facetId` of the path, `from` and `to` of the query.
    pub(crate) fn read(fields: &mut Fields) -> Option<Self> {
        let company = fields.path("companyId");
        let (facet, id) = (fields.path("facet"), fields.path("facetId"));
        let (from, to) = (fields.query("from"), fields.query("to"));
        if let Some((from, to)) = from.zip(to) {
            between(fields, from, to);
        }
        Some(Self { company: company?, of: FacetRef { facet: facet?, id: id? }, from, to })
    }

    /// The time that is meant: from today's first second on where nothing else is said.
    ///
    /// # Errors
    /// 400 where it ends before today and is not said to begin earlier.
    pub(crate) fn period(&self, now: TimestampSeconds) -> Result<Period, Error> {
        let first = self.from.unwrap_or(PlanBound::Day(now.day())).first();
        let Some(to) = self.to else { return Ok(Period::since(first)) };
        let fault = || Error::invalid("/query/to", "must not be before from, which is today where it is not given");
        Period::new(first, to.last()).ok_or_else(fault)
    }

    /// What was asked, for fingerprints: not what it means today.
    pub(crate) fn asked(&self) -> String {
        let text = |time: Option<PlanTime>| time.map(|time| time.to_string()).unwrap_or_default();
        format!("{} {}/{}", self.of, text(self.from.map(PlanBound::first)), text(self.to.map(PlanBound::last)))
    }

    pub(crate) fn partition(&self) -> ReferencePartition {
        ReferencePartition { company: self.company.clone(), of: self.of.clone() }
    }

    /// Refuses data that no reference has room for.
    ///
    /// # Errors
    /// 413.
    pub(crate) fn must_have_room_for(
        &self,
        of: &FacetRef,
        data: &JsonText,
        now: TimestampSeconds,
        random: &Random,
    ) -> Result<(), Error> {
        // Ids of activities are all of one length, and no status is longer.
        let activity = ActivityId::new(now.instant(), random);
        let place = UseSort { status: Status::Completed, end: now.into(), activity };
        must_fit(&Reference::new(self.company.clone(), of.clone(), place, data.clone()), MAX_REFERENCE)
    }
}

/// The member `data` of a body: the object that is copied into references.
pub(crate) fn read_data(fields: &mut Fields) -> Option<JsonText> {
    let data = JsonText::from(fields.body::<Box<RawValue>>("data")?);
    if data.is_object() { Some(data) } else { fields.fault("/body/data", "must be a JSON object") }
}

impl Wellness {
    /// How many references there are to change, or only those with other data than this.
    pub(crate) async fn count_uses(
        &self,
        uses: &Uses,
        period: Period,
        other_than: Option<&JsonText>,
    ) -> Result<u64, Error> {
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
