use function::Fields;
use keys::{
    TimestampSeconds,
    wellness::{Period, PlanBound, Year},
};

/// The period of a list, from the query string.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    /// A given year, or a range from `from` to `to`.
    Given(Period),
    /// The calendar year of the request.
    ThisYear,
}

/// Maximum length of a list's period, in seconds: two years, one of them a leap year.
const LONGEST: i64 = 731 * 24 * 60 * 60;

impl Wanted {
    /// Reads the parameter `year`, or both `from` and `to`. A request with only one of `from` and
    /// `to` is invalid.
    pub(crate) fn read(fields: &mut Fields) -> Option<Self> {
        let year = fields.query::<Year>("year");
        let (from, to) = (fields.query::<PlanBound>("from"), fields.query::<PlanBound>("to"));
        let asked = [fields.has_query("year"), fields.has_query("from"), fields.has_query("to")];
        match asked {
            [false, false, false] => Some(Self::ThisYear),
            [true, false, false] => year.map(Period::of_year).map(Self::Given),
            [true, ..] => fields.fault("/query/year", "cannot be combined with from and to"),
            [_, true, false] => fields.fault("/query/to", "is required if from is given"),
            [_, false, true] => fields.fault("/query/from", "is required if to is given"),
            [_, true, true] => {
                let period = between(fields, from?, to?)?;
                let length =
                    period.last().second().instant().as_second() - period.first().second().instant().as_second();
                if length >= LONGEST {
                    return fields.fault("/query/to", "must be at most two years after from");
                }
                Some(Self::Given(period))
            }
        }
    }

    pub(crate) fn at(self, now: TimestampSeconds) -> Period {
        match self {
            Self::Given(period) => period,
            Self::ThisYear => Period::of_year(Year::of(now)),
        }
    }
}

/// Returns the period from `from` to `to`, both inclusive (docs/decisions/times.md).
pub(crate) fn between(fields: &mut Fields, from: PlanBound, to: PlanBound) -> Option<Period> {
    match Period::new(from.first(), to.last()) {
        Some(period) => Some(period),
        None => fields.fault("/query/to", "must not be before from"),
    }
}
