use crate::{Name, Wellness};
use function::{Error, Problem};
use keys::{
    TimestampSeconds,
    wellness::{CompanyId, CompanyPartition, Period, PlanId, PlanTime, PlansSort, Year},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// Maximum number of plans of a company.
pub(crate) const MAX_PLANS: usize = 100;

/// The plans of a company. One item has all of them, so that one conditional write keeps them from
/// overlapping (docs/decisions/wellness-plans.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Plans {
    /// Partition key: `CompanyId-<id>`.
    #[serde(rename = "PK")]
    pub partition: CompanyPartition,
    /// Sort key: `Plans`.
    #[serde(rename = "SK")]
    pub sort: PlansSort,
    /// The plans in the order of their periods, which do not overlap.
    pub plans: Vec<Plan>,
    /// Version number, starting at 1.
    pub version: i64,
}

impl Item for Plans {
    const TYPE: &'static str = "Plans";
}

/// A plan: a named period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Plan {
    /// The id, unique within the company.
    pub plan_id: PlanId,
    /// The name.
    pub name: Name,
    /// An activity belongs to the plan if it ends within this period.
    pub period: Period,
}

impl Plan {
    /// Returns the calendar year as a plan. Its id and its name are the year. `None` if the year
    /// has no name, which is impossible.
    fn of_year(year: Year, period: Period) -> Option<Self> {
        Some(Self { plan_id: year.into(), name: year.to_string().parse().ok()?, period })
    }
}

impl Plans {
    /// Primary key of the plans of a company.
    pub fn key_of(company: &CompanyId) -> Key {
        Key::new(&CompanyPartition(company.clone()), &PlansSort)
    }

    /// The plans of a company without plans.
    pub(crate) fn none(company: CompanyId) -> Self {
        Self { partition: CompanyPartition(company), sort: PlansSort, plans: Vec::new(), version: 0 }
    }

    /// Returns the plan with this id. A calendar year is a plan as far as no other plan covers it.
    pub(crate) fn named(&self, id: &PlanId) -> Option<Plan> {
        let stored = self.plans.iter().find(|plan| plan.plan_id == *id).cloned();
        stored.or_else(|| self.of_year(id.as_str().parse().ok()?))
    }

    /// Returns the plan to which an activity belongs that ends at this time.
    pub(crate) fn at(&self, end: PlanTime) -> Option<Plan> {
        let stored = self.plans.iter().find(|plan| plan.period.contains(end)).cloned();
        stored.or_else(|| self.of_year(Year::of(end.second())))
    }

    /// Returns the calendar year without the plans at its start and its end.
    fn of_year(&self, year: Year) -> Option<Plan> {
        let mut rest = Some(Period::of_year(year));
        // The plans have an order, so a plan that covers the start comes before the others. The
        // second pass removes those that cover the end.
        for plan in self.plans.iter().chain(self.plans.iter().rev()) {
            rest = rest?.without(plan.period);
        }
        Plan::of_year(year, rest?)
    }

    /// Returns the plans with a new or changed plan.
    ///
    /// # Errors
    /// - 409 if the plan overlaps another plan.
    /// - 413 if the company has too many plans.
    pub(crate) fn with(&self, plan: Plan) -> Result<Self, Error> {
        let mut plans: Vec<_> = self.plans.iter().filter(|other| other.plan_id != plan.plan_id).cloned().collect();
        if let Some(other) = plans.iter().find(|other| other.period.overlaps(plan.period)) {
            let detail = format!("The period overlaps the plan {}.", other.plan_id);
            return Err(Error::Conflict(Problem::PlanOverlap, detail));
        }
        if plans.len() >= MAX_PLANS {
            return Err(Error::TooLarge(format!("A company has at most {MAX_PLANS} plans.")));
        }
        let place = plans.partition_point(|other| other.period.first() < plan.period.first());
        plans.insert(place, plan);
        Ok(Self { plans, version: self.version + 1, ..self.clone() })
    }
}

impl Wellness {
    /// Reads the plans of a company with strong consistency.
    pub(crate) async fn plans(&self, company: &CompanyId) -> Result<Plans, Error> {
        let found = self.table.get::<Plans>(&Plans::key_of(company)).await?;
        Ok(found.unwrap_or_else(|| Plans::none(company.clone())))
    }

    /// Reads the plans of a company for a list, and returns the number of unreadable items. Without
    /// readable plans, the calendar years are the plans.
    pub(crate) async fn listed_plans(&self, company: &CompanyId) -> Result<(Plans, usize), Error> {
        let none = || Plans::none(company.clone());
        match self.table.get_eventually::<Plans>(&Plans::key_of(company)).await {
            Err(table::Error::Unreadable(..)) => Ok((none(), 1)),
            found => Ok((found?.unwrap_or_else(none), 0)),
        }
    }
}

/// A plan.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanBody {
    plan_id: PlanId,
    name: Name,
    start_date: TimestampSeconds,
    end_date: TimestampSeconds,
}

impl From<Plan> for PlanBody {
    fn from(Plan { plan_id, name, period }: Plan) -> Self {
        Self { plan_id, name, start_date: period.first().second(), end_date: period.last().second() }
    }
}
