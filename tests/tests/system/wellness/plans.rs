//! Tests of W19: plans, and the lists of a plan.

use futures::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Client, assert_problem,
    wellness::{activity, admin, employee, of_company, put, registration, stack},
};

const COMPANY: &str = "C";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

fn plan(name: &str, start: &str, end: &str) -> Value {
    json!({"name": name, "startDate": start, "endDate": end})
}

/// Returns the ids of the activities in a list.
fn ids(list: &Value) -> BTreeSet<&str> {
    list["items"].as_array().expect("items").iter().filter_map(|item| item["activityId"].as_str()).collect()
}

#[tokio::test]
async fn plans_are_created_changed_and_listed() {
    let stack = stack().start().await.expect("a stack");
    let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, "user"));
    assert_eq!(user.get(&of("plans")).await.body, json!({"items": []}));
    let fiscal = of("plans/fiscal");
    let made = admin.put(&fiscal, &plan("Fiscal year", "2020-07-01", "2021-06-30")).await;
    let expected = json!({"planId": "fiscal", "name": "Fiscal year", "startDate": "2020-07-01T00:00:00Z",
        "endDate": "2021-06-30T23:59:59Z"});
    assert_eq!((made.status, &made.body), (201, &expected), "a last day is included");
    assert_eq!(admin.put(&fiscal, &plan("Fiscal year", "2020-07-01", "2021-06-30")).await.status, 200);
    assert_eq!(user.get(&fiscal).await.body, expected);
    assert_eq!(admin.put(&of("plans/before"), &plan("Before", "2020-01-01", "2020-06-30")).await.status, 201);
    let names = user.get(&of("plans")).await.body;
    assert_eq!((&names["items"][0]["planId"], &names["items"][1]["planId"]), (&json!("before"), &json!("fiscal")));
    let rest = user.get(&of("plans/2021")).await;
    assert_eq!(
        rest.body,
        json!({"planId": "2021", "name": "2021", "startDate": "2021-07-01T00:00:00Z", "endDate": "2021-12-31T23:59:59Z"})
    );
    assert_problem(&user.get(&of("plans/2020")).await, 404, "not-found");
    assert_problem(&user.get(&of("plans/unknown")).await, 404, "not-found");
}

#[tokio::test]
async fn invalid_and_overlapping_plans_are_rejected() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    assert_eq!(admin.put(&of("plans/2020"), &plan("2020", "2020-01-01", "2020-12-31")).await.status, 201);
    for (start, end) in
        [("2020-12-31T23:59:59", "2021-12-31"), ("2019-06-01", "2020-01-01"), ("2020-03-01", "2020-04-01")]
    {
        assert_problem(&admin.put(&of("plans/other"), &plan("Other", start, end)).await, 409, "plan-overlap");
    }
    for (id, start, end, pointer) in [
        ("other", "2021-02-01", "2021-01-31", "/body/endDate"),
        ("other", "2021-01-01", "2023-01-02", "/body/endDate"),
        ("2021", "2021-06-01", "2022-05-31", "/path/planId"),
        ("other", "2021-02-30", "2021-12-31", "/body/startDate"),
    ] {
        let answer = admin.put(&of(&format!("plans/{id}")), &plan("Other", start, end)).await;
        assert_problem(&answer, 400, "invalid-request");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{}", answer.body);
    }
    assert_eq!(admin.put(&of("plans/other"), &plan("Two years", "2021-01-01", "2022-12-31")).await.status, 201);
}

/// Concurrent requests for overlapping plans: exactly one succeeds.
#[tokio::test]
async fn concurrent_plans_never_overlap() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let ids: Vec<String> = (0..12).map(|number| of(&format!("plans/p-{number}"))).collect();
    let body = plan("Same period", "2020-01-01", "2020-12-31");
    let answers = join_all(ids.iter().map(|path| admin.put(path, &body))).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 201 | 409 | 503)), "{statuses:?}");
    assert_eq!(admin.get(&of("plans")).await.body["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_company_has_at_most_a_hundred_plans() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    for year in 2000..2100 {
        let (start, end) = (format!("{year}-01-01"), format!("{year}-12-31"));
        assert_eq!(admin.put(&of(&format!("plans/{year}")), &plan("Year", &start, &end)).await.status, 201);
    }
    let one_more = admin.put(&of("plans/more"), &plan("More", "2100-01-01", "2100-12-31")).await;
    assert_problem(&one_more, 413, "too-large");
    assert_eq!(admin.put(&of("plans/2099"), &plan("Renamed", "2099-01-01", "2099-06-30")).await.status, 200);
}

/// All lists of a plan contain the activities that end in it, and no list mixes two companies.
#[tokio::test]
async fn lists_show_the_current_plan_or_the_named_plan() {
    let stack = stack().start().await.expect("a stack");
    let (admin, user, operator) = (admin(&stack, COMPANY), employee(&stack, COMPANY, "user"), Client::operator(&stack));
    let year: i16 = jiff::Timestamp::now().strftime("%Y").to_string().parse().expect("a year");
    let ends = [("last-year", year - 1), ("this-year", year), ("next-year", year + 1)];
    let made = ends.map(|(id, year)| activity(COMPANY, id, id, &format!("{year}-12-31T23:59:59")));
    put(&stack, &made).await;
    put(&stack, &made.each_ref().map(|activity| registration(activity, "user"))).await;
    let registrations = "/wellness/users/user/registrations".to_owned();
    let lists = [of("activities"), of("activity-options"), registrations];
    let shown = async |query: &str| {
        let mut shown = BTreeSet::new();
        for list in &lists {
            let all = if list.contains("/users/") { "" } else { "status=active,completed" };
            let query = if query.is_empty() { format!("?{all}") } else { format!("{query}&{all}") };
            let answer = user.get(&format!("{list}{}", query.trim_end_matches(['?', '&']))).await;
            assert_eq!(answer.status, 200, "{list}{query}: {}", answer.body);
            shown.insert(ids(&answer.body).into_iter().map(str::to_owned).collect::<Vec<_>>().join(" "));
        }
        assert_eq!(shown.len(), 1, "all lists agree: {query} {shown:?}");
        shown.pop_first().expect("a list")
    };
    assert_eq!(shown("").await, "this-year");
    assert_eq!(shown(&format!("?planId={}", year + 1)).await, "next-year");
    let (start, end) = (format!("{year}-01-01"), format!("{}-12-31", year + 1));
    assert_eq!(admin.put(&of("plans/long"), &plan("Two years", &start, &end)).await.status, 201);
    assert_eq!(shown("").await, "next-year this-year", "the current plan has two years");
    assert_eq!(shown("?planId=long").await, "next-year this-year");
    assert_eq!(shown(&format!("?planId={}", year - 1)).await, "last-year");
    assert_eq!(shown(&format!("?year={year}")).await, "this-year", "a calendar year");
    for list in &lists {
        assert_problem(&user.get(&format!("{list}?planId=unknown")).await, 404, "not-found");
        for query in ["year=2020", "from=2020-01-01&to=2020-12-31", "to=2020-12-31"] {
            let both = user.get(&format!("{list}?planId=long&{query}")).await;
            assert_problem(&both, 400, "invalid-request");
            assert_eq!(both.body["errors"][0]["pointer"], "/query/planId", "{}", both.body);
        }
    }
    let others = operator.get(&of_company("other", "activities?planId=long")).await;
    assert_problem(&others, 404, "not-found");
}
