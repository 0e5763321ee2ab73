//! Plans, and the lists of a plan (W19): docs/requirements/wellness.md#named-plans.

use futures::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    assert_problem, texts,
    wellness::{activity, admin, employee, of_company, put, registration, stack},
};

const COMPANY: &str = "C";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

fn plan(name: &str, start: &str, end: &str) -> Value {
    json!({"name": name, "startDate": start, "endDate": end})
}

#[tokio::test]
async fn plans_are_created_changed_and_listed() {
    let stack = stack().start().await.expect("a stack");
    let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, "user"));
    let (fiscal, body) = (of("plans/fiscal"), plan("Fiscal year", "2020-07-01", "2021-06-30"));
    let made = admin.put(&fiscal, &body).await;
    let expected = json!({"planId": "fiscal", "name": "Fiscal year", "startDate": "2020-07-01T00:00:00Z",
        "endDate": "2021-06-30T23:59:59Z"});
    assert_eq!((made.status, &made.body), (201, &expected), "a last day is included");
    assert_eq!(admin.put(&fiscal, &body).await.status, 200);
    assert_eq!(user.get(&fiscal).await.body, expected);
    assert_eq!(admin.put(&of("plans/before"), &plan("Before", "2020-01-01", "2020-06-30")).await.status, 201);
    let plans = user.get(&of("plans")).await.body;
    assert_eq!(texts(plans["items"].as_array().expect("items"), "planId"), ["before", "fiscal"]);
    let rest = json!({"planId": "2021", "name": "2021", "startDate": "2021-07-01T00:00:00Z",
        "endDate": "2021-12-31T23:59:59Z"});
    assert_eq!(user.get(&of("plans/2021")).await.body, rest);
    assert_problem(&user.get(&of("plans/2020")).await, 404, "not-found");
    for (start, end) in
        [("2021-06-30T23:59:59", "2022-12-31"), ("2019-06-01", "2020-01-01"), ("2020-08-01", "2020-09-01")]
    {
        assert_problem(&admin.put(&of("plans/other"), &plan("Other", start, end)).await, 409, "plan-overlap");
    }
    for (id, start, end, pointer) in [
        ("other", "2022-02-01", "2022-01-31", "/body/endDate"),
        ("other", "2022-01-01", "2024-01-02", "/body/endDate"),
        ("2022", "2022-06-01", "2023-05-31", "/path/planId"),
    ] {
        let answer = admin.put(&of(&format!("plans/{id}")), &plan("Other", start, end)).await;
        assert_problem(&answer, 400, "invalid-request");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{}", answer.body);
    }
    assert_eq!(admin.put(&of("plans/other"), &plan("Two years", "2022-01-01", "2023-12-31")).await.status, 201);
}

#[tokio::test]
async fn concurrent_plans_never_overlap_and_a_company_has_at_most_a_hundred() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let ids: Vec<String> = (0..12).map(|number| of(&format!("plans/p-{number}"))).collect();
    let body = plan("Same period", "1999-01-01", "1999-12-31");
    let answers = join_all(ids.iter().map(|path| admin.put(path, &body))).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 201 | 409 | 503)), "{statuses:?}");
    for year in 2000..2099 {
        let body = plan("Year", &format!("{year}-01-01"), &format!("{year}-12-31"));
        assert_eq!(admin.put(&of(&format!("plans/{year}")), &body).await.status, 201);
    }
    let one_more = admin.put(&of("plans/more"), &plan("More", "2100-01-01", "2100-12-31")).await;
    assert_problem(&one_more, 413, "too-large");
    assert_eq!(admin.put(&of("plans/2098"), &plan("Renamed", "2098-01-01", "2098-06-30")).await.status, 200);
}

/// All lists of a plan contain the activities that end in it.
#[tokio::test]
async fn lists_show_the_current_plan_or_the_named_plan() {
    let stack = stack().start().await.expect("a stack");
    let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, "user"));
    let year: i16 = jiff::Timestamp::now().strftime("%Y").to_string().parse().expect("a year");
    let ends = [("last-year", year - 1), ("this-year", year), ("next-year", year + 1)];
    let made = ends.map(|(id, year)| activity(COMPANY, id, id, &format!("{year}-12-31T23:59:59")));
    put(&stack, &made).await;
    put(&stack, &made.each_ref().map(|activity| registration(activity, "user"))).await;
    let all = "status=active,completed";
    let registrations = "/wellness/users/user/registrations?".to_owned();
    let lists = [of(&format!("activities?{all}&")), of(&format!("activity-options?{all}&")), registrations];
    let shown = async |query: &str| {
        let mut shown = BTreeSet::new();
        for list in &lists {
            let path = format!("{list}{query}");
            let answer = user.get(path.trim_end_matches(['?', '&'])).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            shown.insert(texts(answer.body["items"].as_array().expect("items"), "activityId").join(" "));
        }
        assert_eq!(shown.len(), 1, "all lists agree: {query} {shown:?}");
        shown.pop_first().expect("a list")
    };
    assert_eq!(shown("").await, "this-year");
    assert_eq!(shown(&format!("planId={}", year + 1)).await, "next-year");
    let (start, end) = (format!("{year}-01-01"), format!("{}-12-31", year + 1));
    assert_eq!(admin.put(&of("plans/long"), &plan("Two years", &start, &end)).await.status, 201);
    assert_eq!(shown("").await, "this-year next-year", "the current plan has two years");
    assert_eq!(shown("planId=long").await, "this-year next-year");
    assert_eq!(shown(&format!("planId={}", year - 1)).await, "last-year");
    assert_eq!(shown(&format!("year={year}")).await, "this-year", "a calendar year");
    for list in &lists {
        assert_problem(&user.get(&format!("{list}planId=unknown")).await, 404, "not-found");
        for query in ["year=2020", "from=2020-01-01&to=2020-12-31", "to=2020-12-31"] {
            let both = user.get(&format!("{list}planId=long&{query}")).await;
            assert_problem(&both, 400, "invalid-request");
            assert_eq!(both.body["errors"][0]["pointer"], "/query/planId", "{}", both.body);
        }
    }
}
