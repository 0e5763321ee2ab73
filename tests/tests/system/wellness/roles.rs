//! Tests of what employees see and report (docs/requirements/wellness.md#permissions).

use function::Pattern;
use keys::wellness::Status;
use local::Stack;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    Client, assert_problem,
    wellness::{activity, admin, employee, of_company, put, registration, registration_of, stack},
};
use wellness::Activity;

const OURS: &str = "123";
const END: &str = "2099-12-31T23:59:59";
const YEAR: &str = "year=2099";

/// Puts an activity of each status, with a reference to the venue and a registration of the user.
/// The id and the name of each activity are its status.
async fn put_all_statuses(stack: &Stack) {
    let of = |status: Status| Activity { status, ..activity(OURS, &format!("is-{status}"), status.as_str(), END) };
    let activities = Status::ALL.map(of);
    put(stack, &activities.each_ref().map(|activity| registration(activity, "user"))).await;
    let reference = |activity: &Activity| {
        let place =
            keys::wellness::UseSort { status: activity.status, end: activity.end(), activity: activity.id().clone() };
        let data = system_tests::wellness::json_text(&json!({}));
        wellness::Reference::new(activity.company.clone(), "VenueId-venue".parse().expect("a venue"), place, data)
    };
    put(stack, &activities.each_ref().map(reference)).await;
    put(stack, &activities).await;
}

/// Every GET route must be requested with each status that it can filter by, or with the id of an
/// activity of each status.
#[tokio::test]
async fn employees_see_only_active_and_completed_activities_on_every_route() {
    let stack = stack().start().await.expect("a stack");
    put_all_statuses(&stack).await;
    let (user, admin) = (employee(&stack, OURS, "user"), admin(&stack, OURS));
    let mut shown = BTreeMap::<String, [BTreeSet<Status>; 2]>::new();
    let patterns = wellness::patterns();
    for route in patterns.iter().flat_map(Pattern::routes).filter(|route| route.method == "GET") {
        for status in Status::ALL {
            let path = function::path(route.path, |name| {
                Some(match name {
                    "companyId" => OURS.to_owned(),
                    "userId" => "user".to_owned(),
                    "facet" => "venues".to_owned(),
                    "facetId" => "venue".to_owned(),
                    "activityId" => format!("is-{status}"),
                    _ => "VenueId-1".to_owned(),
                })
            });
            for (at, client) in [&user, &admin].into_iter().enumerate() {
                for query in
                    [String::new(), format!("?status={status}"), format!("?{YEAR}"), format!("?{YEAR}&status={status}")]
                {
                    let answer = client.get(&format!("{path}{query}")).await;
                    let text = answer.body.to_string();
                    let seen = Status::ALL
                        .into_iter()
                        .filter(|one| answer.status == 200 && text.contains(&format!("\"is-{one}\"")));
                    shown.entry(route.path.to_owned()).or_default()[at].extend(seen);
                }
            }
        }
    }
    let all = BTreeSet::from(Status::ALL);
    let visible = BTreeSet::from([Status::Active]);
    for (route, [to_employee, to_admin]) in &shown {
        if to_admin.is_empty() {
            continue;
        }
        assert_eq!(*to_admin, all, "{route} shows administrators all activities");
        let mut visible = visible.clone();
        // A user learns that an activity of theirs was cancelled.
        if route.contains("/users/") {
            visible.insert(Status::Cancelled);
        }
        assert_eq!(*to_employee, visible, "{route}");
    }
    let showing = shown.values().filter(|[_, to_admin]| !to_admin.is_empty()).count();
    assert_eq!(showing, 5, "the lists, the activity, the references and the registrations: {shown:?}");
    let hidden = user.get(&of_company(OURS, "activities/is-draft")).await;
    let missing = user.get(&of_company(OURS, "activities/is-nothing")).await;
    assert_problem(&hidden, 404, "not-found");
    assert_eq!(hidden.body["detail"], missing.body["detail"]);
}

#[tokio::test]
async fn employees_report_progress_only_on_active_activities_that_have_not_ended() {
    let stack = stack().start().await.expect("a stack");
    put_all_statuses(&stack).await;
    let ended = activity(OURS, "is-ended", "ended", "2020-12-31T23:59:59");
    put(&stack, &[registration(&ended, "user")]).await;
    put(&stack, &[ended, activity(OURS, "is-unknown", "not registered", END)]).await;
    put(&stack, &[Activity { status: Status::Draft, ..activity(OURS, "unknown-draft", "not registered", END) }]).await;
    let (user, admin, operator) = (employee(&stack, OURS, "user"), admin(&stack, OURS), Client::operator(&stack));
    let report = json!({"progress": 10});
    for (id, status, kind) in [
        ("is-active", 200, ""),
        ("is-cancelled", 409, "activity-not-open"),
        ("is-draft", 409, "activity-not-open"),
        ("is-ended", 409, "activity-not-open"),
        // Only registered employees learn that an activity exists.
        ("is-unknown", 404, "not-found"),
        ("unknown-draft", 404, "not-found"),
        ("is-nothing", 404, "not-found"),
    ] {
        let path = registration_of(OURS, "user", id);
        let answer = user.patch(&path, &report).await;
        if status == 200 {
            assert_eq!(answer.status, 200, "{id}: {}", answer.body);
        } else {
            assert_problem(&answer, status, kind);
        }
        for client in [&admin, &operator] {
            let answer = client.patch(&path, &json!({"progress": 5, "correction": true})).await;
            assert_eq!(answer.status, if status == 404 { 404 } else { 200 }, "{id}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn only_administrators_and_operators_correct_progress() {
    let stack = stack().start().await.expect("a stack");
    put_all_statuses(&stack).await;
    let (user, admin, operator) = (employee(&stack, OURS, "user"), admin(&stack, OURS), Client::operator(&stack));
    let path = registration_of(OURS, "user", "is-active");
    assert_eq!(user.patch(&path, &json!({"progress": 10, "correction": false})).await.status, 200);
    let privileged = [json!({"progress": 5, "correction": true}), json!({"progress": 20, "correction": true})];
    for body in &privileged {
        assert_problem(&user.patch(&path, body).await, 403, "forbidden");
    }
    let list = user.get(&format!("/wellness/users/user/registrations?{YEAR}")).await.body;
    let own = list["items"].as_array().expect("items").iter().find(|item| item["activityId"] == "is-active");
    let own = own.expect("the registration");
    assert_eq!(own["progress"], 10.0, "no rejected request has an effect");
    for client in [&admin, &operator] {
        for (body, progress) in [(json!({"progress": 30}), 30.0), (json!({"progress": 5, "correction": true}), 5.0)] {
            let answer = client.patch(&path, &body).await;
            assert_eq!((answer.status, &answer.body["progress"]), (200, &json!(progress)), "{}", answer.body);
        }
    }
}
