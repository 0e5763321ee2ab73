//! What employees see and report (docs/requirements/wellness.md#permissions).

use function::Pattern;
use keys::wellness::Status;
use local::Stack;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    Client, assert_problem, parsed,
    wellness::{
        activity, admin, employee, of_company, put, references::reference, registration, registration_of, stack,
    },
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
    put(stack, &activities.each_ref().map(|activity| reference(activity, "VenueId-venue", &json!({})))).await;
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
            let queries = ["", &format!("?status={status}"), &format!("?{YEAR}"), &format!("?{YEAR}&status={status}")];
            for (at, client) in [&user, &admin].into_iter().enumerate() {
                for query in queries {
                    let answer = client.get(&format!("{path}{query}")).await;
                    let is_shown = |one: &Status| answer.status == 200 && answer.shows(&format!("\"is-{one}\""));
                    let seen = Status::ALL.into_iter().filter(is_shown);
                    shown.entry(route.path.to_owned()).or_default()[at].extend(seen);
                }
            }
        }
    }
    shown.retain(|_, [_, to_admin]| !to_admin.is_empty());
    for (route, [to_employee, to_admin]) in &shown {
        assert_eq!(*to_admin, Status::ALL.into(), "{route} shows administrators all activities");
        // A user learns that an activity of theirs was cancelled.
        let cancelled = route.contains("/users/").then_some(Status::Cancelled);
        assert_eq!(*to_employee, cancelled.into_iter().chain([Status::Active]).collect(), "{route}");
    }
    assert_eq!(shown.len(), 5, "the lists, the activity, the references and the registrations: {shown:?}");
    let hidden = user.get(&of_company(OURS, "activities/is-draft")).await;
    let missing = user.get(&of_company(OURS, "activities/is-nothing")).await;
    assert_problem(&hidden, 404, "not-found");
    assert_eq!(hidden.body["detail"], missing.body["detail"]);
}

#[tokio::test]
async fn employees_report_progress_only_on_open_activities_and_correct_nothing() {
    let stack = stack().start().await.expect("a stack");
    put_all_statuses(&stack).await;
    let ended = activity(OURS, "is-ended", "ended", "2020-12-31T23:59:59");
    let later = Activity { start_date: parsed("2099-01-01"), ..activity(OURS, "is-later", "later", END) };
    put(&stack, &[registration(&ended, "user"), registration(&later, "user")]).await;
    put(&stack, &[ended, later, activity(OURS, "is-unknown", "not registered", END)]).await;
    put(&stack, &[Activity { status: Status::Draft, ..activity(OURS, "unknown-draft", "not registered", END) }]).await;
    let (user, admin, operator) = (employee(&stack, OURS, "user"), admin(&stack, OURS), Client::operator(&stack));
    let correction = json!({"progress": 5, "correction": true});
    for (id, status, kind) in [
        ("is-active", 200, ""),
        ("is-cancelled", 409, "activity-not-open"),
        ("is-draft", 409, "activity-not-open"),
        ("is-ended", 409, "activity-not-open"),
        ("is-later", 409, "activity-not-open"),
        // Only registered employees learn that an activity exists.
        ("is-unknown", 404, "not-found"),
        ("unknown-draft", 404, "not-found"),
    ] {
        let path = registration_of(OURS, "user", id);
        let answer = user.patch(&path, &json!({"progress": 10, "correction": false})).await;
        if status == 200 {
            assert_eq!(answer.status, 200, "{id}: {}", answer.body);
        } else {
            assert_problem(&answer, status, kind);
        }
        assert_problem(&user.patch(&path, &correction).await, 403, "forbidden");
        for client in [&admin, &operator] {
            for (report, progress) in [(json!({"progress": 30}), 30.0), (correction.clone(), 5.0)] {
                let answer = client.patch(&path, &report).await;
                assert_eq!(answer.status, if status == 404 { 404 } else { 200 }, "{id}: {}", answer.body);
                assert!(status == 404 || answer.body["progress"] == json!(progress), "{id}: {}", answer.body);
            }
        }
    }
}
