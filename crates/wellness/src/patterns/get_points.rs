//! W25: reads the points of an employee in a plan
//! (docs/requirements/wellness.md#points).

use crate::{
    Wellness,
    cost::{self, Calls, Named, Pattern},
    model::{
        award::{Award, Correction, CorrectionBody},
        period::UserPeriod,
    },
};
use function::{Error, Json, Problem, Request, Route, Trigger};
use futures::future::try_join;
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, CorrectionSort, PointsPartition, RewardKind},
};
use schemars::JsonSchema;
use serde::Serialize;
use table::{
    Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W25",
    name: "get-points",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/users/{userId}/points",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "Read the points of a user in a plan",
        problems: &[Problem::NotFound, Problem::TooLarge],
    }]),
    calls: &[
        Calls::new("", points_cost),
        Calls::new(", of a plan", |case| points_cost(case).read(cost::ACTIVITIES, read_eventually(case.own))),
    ],
    contract: function::contract(&get_points),
    function: || function::http(get_points, Wellness::warm_by_registrations),
};

fn points_cost(case: &Named) -> Cost {
    Cost::default()
        .read(cost::REGISTRATIONS, case.listed(case.registration))
        .read(cost::ACTIVITIES, read_eventually(case.corrections))
}

/// The points of an employee, with the entries that they consist of.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PointsOfPlan")]
pub struct PointsBody {
    start_date: TimestampSeconds,
    end_date: TimestampSeconds,
    /// The sum of the entries.
    total: i64,
    /// The entries, oldest first.
    items: Vec<Entry>,
    /// Number of unreadable items that were left out.
    #[serde(skip_serializing_if = "function::is_zero")]
    #[schemars(with = "function::Skipped")]
    skipped: usize,
}

/// An entry of the journal.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[schemars(rename = "PointsEntry")]
enum Entry {
    #[serde(rename_all = "camelCase")]
    #[schemars(title = "AwardEntry")]
    Award {
        activity_id: ActivityId,
        kind: RewardKind,
        #[schemars(range(max = u32::MAX))]
        points: u32,
        at: TimestampSeconds,
    },
    #[schemars(title = "CorrectionEntry")]
    Correction(CorrectionBody),
}

impl Entry {
    fn points(&self) -> i64 {
        match self {
            Self::Award { points, .. } => i64::from(*points),
            Self::Correction(correction) => i64::from(correction.points),
        }
    }

    fn at(&self) -> TimestampSeconds {
        match self {
            Self::Award { at, .. } => *at,
            Self::Correction(correction) => correction.at,
        }
    }
}

/// Lists the awards and the corrections of an employee, with their sum. Awards belong to the plan
/// in which their activity ends.
///
/// # Errors
/// - 400 if the input is invalid, or an operator does not name the company.
/// - 403 if the caller is another user or belongs to another company.
/// - 404 if the plan does not exist.
/// - 413 if the employee has more than 100,000 registrations in the plan, or the response is too
///   large.
pub async fn get_points(wellness: Wellness, request: Request<UserPeriod>) -> Result<Json<PointsBody>, Error> {
    let UserPeriod { of, wanted } = &request.input;
    let of = of.of(&request.caller)?;
    let period = wellness.period(wanted, &of.company, request.now).await?;
    let awards = wellness.all_registrations(&of, period, |one| (one.partition.0, one.awards));
    let (partition, range) = (PointsPartition(of.company.clone()), CorrectionSort::within(&of.user, period));
    let corrections = Query::new(&partition, &range).large().eventually();
    let corrections = async { Ok(wellness.table.query_all::<Correction>(&corrections).await?) };
    let (awards, corrections) = Box::pin(try_join(awards, corrections)).await?;
    let skipped = awards.skipped + corrections.skipped;
    let items = entries(awards.items, corrections.items);
    let total = items.iter().map(Entry::points).sum();
    let (start_date, end_date) = (period.first().second(), period.last().second());
    Ok(Json(PointsBody { start_date, end_date, total, items, skipped }))
}

fn entries(awards: Vec<(ActivityId, Vec<Award>)>, corrections: Vec<Correction>) -> Vec<Entry> {
    let awards = awards.into_iter().flat_map(|(activity, awards)| {
        let entry = move |Award { kind, points, at }| Entry::Award { activity_id: activity.clone(), kind, points, at };
        awards.into_iter().map(entry)
    });
    let corrections = corrections.into_iter().map(|correction| Entry::Correction(correction.into()));
    let mut entries: Vec<Entry> = awards.chain(corrections).collect();
    entries.sort_by_key(Entry::at);
    entries
}
