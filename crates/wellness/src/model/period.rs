use crate::{Wellness, model::access::OfUser};
use function::{Contract, Error, Fields, Input, Whole};
use keys::{
    Bounds, TimestampSeconds,
    wellness::{CompanyId, Period, PlanBound, PlanId, Year},
};

/// The period of a list, from the query string.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// A given year, or a range from `from` to `to`.
    Given(Period),
    /// A plan.
    Plan(PlanId),
    /// The plan that contains the time of the request.
    CurrentPlan,
}

/// A user, and the period of a list about the user.
#[derive(Debug, Clone, Input)]
pub struct UserPeriod {
    #[input(part)]
    pub(crate) of: OfUser,
    #[input(part)]
    pub(crate) wanted: Wanted,
}

/// Maximum length of a plan and of a list's period, in seconds: two years, one of them a leap year.
const LONGEST: i64 = 731 * 24 * 60 * 60;

/// The parameter `planId` or `year`, or both `from` and `to`.
impl Input for Wanted {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (plan, year) = (fields.query::<PlanId>("planId"), fields.query::<Whole<1_000, 9_999>>("year"));
        let year = year.and_then(|year| i64::from(year).to_string().parse::<Year>().ok());
        let (from, to) = (fields.query::<PlanBound>("from"), fields.query::<PlanBound>("to"));
        let asked = [fields.has_query("year"), fields.has_query("from"), fields.has_query("to")];
        if fields.has_query("planId") {
            let is_alone = asked == [false; 3];
            return if is_alone { plan.map(Self::Plan) } else { fields.fault("/query/planId", ALONE) };
        }
        match asked {
            [false, false, false] => Some(Self::CurrentPlan),
            [true, false, false] => year.map(Period::of_year).map(Self::Given),
            [true, ..] => fields.fault("/query/year", "cannot be combined with from and to"),
            [_, true, false] => fields.fault("/query/to", "is required if from is given"),
            [_, false, true] => fields.fault("/query/from", "is required if to is given"),
            [_, true, true] => {
                let period = between(fields, QUERY, from?, to?)?;
                if is_too_long(period) {
                    return fields.fault("/query/to", "must be at most two years after from");
                }
                Some(Self::Given(period))
            }
        }
    }

    fn describe(contract: &mut Contract) {
        let plan = "Plan. It cannot be combined with `year`, `from` and `to`. The default is the current plan.";
        contract.query::<PlanId>("planId", plan, None);
        let year = "Calendar year. It cannot be combined with `from` or `to`. The default is the current plan.";
        contract.query::<Whole<1_000, 9_999>>("year", year, None);
        let from = "Start of the period, inclusive. It requires `to`, and must be at most two years before `to`.";
        contract.query::<PlanBound>("from", from, None);
        let to = "End of the period, inclusive. It requires `from`. A date includes the whole day.";
        contract.query::<PlanBound>("to", to, None);
    }
}

const ALONE: &str = "cannot be combined with year, from and to";

/// Whether the period is longer than a plan or a list may be.
pub(crate) fn is_too_long(period: Period) -> bool {
    let [first, last] = [period.first(), period.last()].map(|time| time.second().instant().as_second());
    last - first >= LONGEST
}

impl Wellness {
    /// Returns the period of a list. Reads the plans of the company only if the request names
    /// neither a year nor a range.
    ///
    /// # Errors
    /// 404 if the plan does not exist.
    pub(crate) async fn period(
        &self,
        wanted: &Wanted,
        company: &CompanyId,
        now: TimestampSeconds,
    ) -> Result<Period, Error> {
        let plan = match wanted {
            Wanted::Given(period) => return Ok(*period),
            Wanted::Plan(id) => self.listed_plans(company).await?.0.named(id).ok_or(Error::NotFound("plan"))?,
            Wanted::CurrentPlan => {
                let current = self.listed_plans(company).await?.0.at(now.into());
                current.ok_or_else(|| Error::Internal("no plan contains the time".to_owned()))?
            }
        };
        Ok(plan.period)
    }
}

/// Returns the period from `from` to `to`, both inclusive (docs/decisions/times.md). `names` are
/// the pointer of `to` and the name of `from`.
pub(crate) fn between(fields: &mut Fields, names: [&str; 2], from: PlanBound, to: PlanBound) -> Option<Period> {
    let [pointer, start] = names;
    match Bounds::new(Some(from.into()), Some(to.into())) {
        Some(bounds) => Some(Period::within(bounds)),
        None => fields.fault(pointer, format!("must not be before {start}")),
    }
}

/// The names of the query parameters of a period.
pub(crate) const QUERY: [&str; 2] = ["/query/to", "from"];
