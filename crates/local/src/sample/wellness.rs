//! Sample plan year: company 123 of docs/requirements/wellness.md with a section, venues,
//! activities and an employee in Sales.
use http::StatusCode;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use super::{SampleError, expect};
use crate::{
    client::{Call, Client},
    schedule,
};

/// Path of the company.
pub(crate) const COMPANY: &str = "/wellness/companies/123";
/// Name of the template that is shared by all companies.
pub(crate) const TEMPLATE: &str = "Walking challenge";
/// Id of the section of the sample challenges, in each plan year.
pub(crate) const SECTION: &str = "7";
const ADDRESS: &str = "211 Wabash Street";

/// The plan year of the sample.
#[derive(Clone, Copy)]
struct PlanYear(i16);

impl PlanYear {
    /// The year of a time in UTC.
    fn of(now: Timestamp) -> Self {
        Self(now.to_zoned(TimeZone::UTC).year())
    }

    fn last_second(self) -> String {
        format!("{}-12-31T23:59:59", self.0)
    }
}

/// Returns the plan year, which is the current year in UTC.
pub(crate) fn year() -> i16 {
    PlanYear::of(Timestamp::now()).0
}

/// Returns the last second of the plan year. The sample challenges end at this time, because
/// employees are enrolled only in challenges that have not ended.
pub(crate) fn last_second() -> String {
    PlanYear(year()).last_second()
}

/// Returns the data of Blood Bank A, as activities store it.
pub(crate) fn blood_bank_a(address: &str) -> Value {
    json!({"Name": "Blood Bank A", "Addr1": address, "City": "Chicago", "ST": "IL", "Postal": "60606"})
}

/// Returns the data of Blood Bank B.
pub(crate) fn blood_bank_b() -> Value {
    json!({"Name": "Blood Bank B", "Addr1": "456 Wabash Street", "City": "Chicago", "ST": "IL", "Postal": "60606"})
}

/// Creates the missing activities of the plan year. Returns the number of new and existing
/// activities.
pub(super) async fn load(client: &Client, now: Timestamp) -> Result<usize, SampleError> {
    let year = PlanYear::of(now);
    let list = format!("{COMPANY}/activities?year={}&status=draft,active,completed,cancelled", year.0);
    let there = names(client, &list).await?;
    let missing = |activity: &Value| !there.iter().any(|name| activity["name"] == *name);
    let (challenges, drives) = (challenges(year), drives(year));
    if challenges.iter().chain(&drives).any(missing) {
        put_company(client, year, now).await?;
        make_all(client, year, challenges.iter().filter(|activity| missing(activity))).await?;
        // The employee is created after the challenges, so that the stream enrols the employee in
        // them. The blood drives are created last. If they exist, the sample is complete.
        let employee = json!({"role": "EmployeeOnPlan", "department": "Sales", "name": "Sue"});
        put(client, format!("{COMPANY}/employees/123"), employee).await?;
        make_all(client, year, drives.iter().filter(|activity| missing(activity))).await?;
    }
    Ok(challenges.len() + drives.len())
}

async fn put_company(client: &Client, year: PlanYear, now: Timestamp) -> Result<(), SampleError> {
    // A deployment loads the global templates on a schedule.
    let load = Call::post("/_local/functions/load-templates/invocations", schedule::event("templates", now));
    expect(&load, client.send(&load).await?, &[StatusCode::OK])?;
    let (first, last) = (format!("{}-01-01", year.0), year.last_second());
    let section = json!({"name": "Get moving", "startDate": first, "endDate": last});
    put(client, format!("{COMPANY}/sections/{SECTION}"), section).await?;
    let venues = [("123", "Blood Bank A", blood_bank_a(ADDRESS)), ("456", "Blood Bank B", blood_bank_b())];
    for (id, name, data) in venues {
        put(client, format!("{COMPANY}/references/venues/{id}"), json!({"name": name, "data": data})).await?;
    }
    if !names(client, "/wellness/templates?limit=100").await?.iter().any(|name| name == TEMPLATE) {
        make(client, "/wellness/templates", "sample-template".to_owned(), template()).await?;
    }
    Ok(())
}

async fn make_all(
    client: &Client,
    year: PlanYear,
    activities: impl Iterator<Item = &Value>,
) -> Result<(), SampleError> {
    for activity in activities {
        let key = format!("sample-{}-{}", year.0, activity["name"].as_str().unwrap_or_default());
        make(client, &format!("{COMPANY}/activities"), key, activity.clone()).await?;
    }
    Ok(())
}

fn template() -> Value {
    json!({
        "name": TEMPLATE,
        "type": "challenge",
        "subType": "Fitness",
        "goal": {"type": "steps", "parameters": {"target": 1000}},
        "rewards": [{"kind": "Half", "name": "Points", "amount": 20, "percent": 50},
            {"kind": "Goal", "name": "Points", "amount": 40}],
        "groups": {"type": "team", "rules": {"most": 10}, "items": [{"name": "Red"}, {"name": "Blue"}]},
    })
}

/// Returns a challenge for each of two departments.
fn challenges(year: PlanYear) -> [Value; 2] {
    [("Walk 5000", "Sales"), ("Run 50", "Engineering")].map(|(name, department)| {
        let mut challenge = template();
        challenge["name"] = name.into();
        challenge["startDate"] = format!("{}-01-01", year.0).into();
        challenge["endDate"] = year.last_second().into();
        challenge["sectionId"] = SECTION.into();
        challenge["filters"] = json!({"roles": ["EmployeeOnPlan"], "departments": [department]});
        challenge["detail"] = json!({"description": format!("{name}: a little more every week")});
        challenge
    })
}

/// Returns a blood drive at Blood Bank A for each quarter.
fn drives(year: PlanYear) -> [Value; 4] {
    [(1, "03-31"), (2, "06-30"), (3, "09-30"), (4, "12-31")].map(|(quarter, day)| {
        json!({
            "name": format!("Blood drive {quarter}"),
            "type": "event",
            "subType": "Community",
            "startDate": format!("{}-{day}T09:00:00", year.0),
            "endDate": format!("{}-{day}T23:59:59", year.0),
            "references": [{"facet": "venues", "id": "123", "data": blood_bank_a(ADDRESS)}],
        })
    })
}

async fn names(client: &Client, list: &str) -> Result<Vec<Value>, SampleError> {
    let call = Call::get(list);
    let reply = expect(&call, client.send(&call).await?, &[StatusCode::OK])?;
    Ok(reply.body["items"].as_array().into_iter().flatten().map(|item| item["name"].clone()).collect())
}

async fn put(client: &Client, path: String, body: Value) -> Result<(), SampleError> {
    let call = Call::put(path, body);
    expect(&call, client.send(&call).await?, &[StatusCode::OK, StatusCode::CREATED]).map(drop)
}

/// Creates an object with this idempotency key. If two loads run concurrently, only one of them
/// creates the object. An object from a load within the last week is not changed, even if it was
/// renamed.
async fn make(client: &Client, path: &str, key: String, body: Value) -> Result<(), SampleError> {
    let call = Call::post(path, body).key(key);
    expect(&call, client.send(&call).await?, &[StatusCode::CREATED, StatusCode::UNPROCESSABLE_ENTITY]).map(drop)
}
