//! Ids of another company in bodies, and one user id in two companies. In the contract, each
//! request is also sent by the administrator of another company
//! (docs/requirements/wellness.md#tenant-isolation).

use keys::wellness::ActivityType;
use local::Stack;
use serde_json::json;
use std::collections::BTreeSet;
use system_tests::{
    Client, assert_problem, drained, parsed, text,
    wellness::{
        activity, admin, challenge, create, employee, json_text, of_company, put, registration, registrations_of,
        stack, stored,
    },
};
use wellness::{Activity, Award, Registration};

const OURS: &str = "123";
const THEIRS: &str = "456";
const END: &str = "2020-12-31T00:00:00";

#[tokio::test]
async fn items_of_another_company_cannot_be_referenced() {
    let stack = stack().start().await.expect("a stack");
    let (ours, theirs) = (admin(&stack, OURS), admin(&stack, THEIRS));
    let section = json!({"name": "Spring", "startDate": "2020-01-01", "endDate": END});
    assert_eq!(theirs.put(&of_company(THEIRS, "sections/theirs"), &section).await.status, 201);
    let template = theirs.post(&of_company(THEIRS, "templates"), &json!({"name": "Walk"})).await.body;
    let foreign = create(&theirs, THEIRS, &challenge("Walk 5000", END)).await;
    let own = create(&ours, OURS, &challenge("Walk 5000", END)).await;
    let own = of_company(OURS, &format!("activities/{}", text(&own, "activityId")));
    let before = ours.get(&own).await.body;
    for (name, id) in [("sectionId", "theirs"), ("templateId", text(&template, "templateId"))] {
        let mut activity = challenge("Walk 5000", END);
        activity[name] = id.into();
        assert_problem(&ours.post(&of_company(OURS, "activities"), &activity).await, 404, "not-found");
    }
    let moved = ours.put(&format!("{own}/section"), &json!({"sectionId": "theirs"})).await;
    assert_problem(&moved, 404, "not-found");
    let path = format!("/wellness/users/user/registrations/{}", text(&foreign, "activityId"));
    let reported = employee(&stack, OURS, "user").patch(&path, &json!({"progress": 50})).await;
    assert_problem(&reported, 404, "not-found");
    assert_eq!(ours.get(&own).await.body, before);
}

/// Puts registrations of the user `u` for activities that end in the same second.
async fn register(stack: &Stack, company: &str, count: usize, filling: usize) {
    let event = |number| Activity {
        activity_type: ActivityType::Event,
        ..activity(company, &format!("{company}-{number:04}"), "Flu shots", "2099-12-31")
    };
    let events: Vec<_> = (0..count).map(event).collect();
    let award = Award { kind: parsed("Attendance"), points: 1, at: parsed("2026-01-01T00:00:00Z") };
    let earned = |event| Registration {
        data: Some(json_text(&json!({"filling": "x".repeat(filling)}))),
        earned_points: 1,
        awards: vec![award.clone()],
        ..registration(event, "u")
    };
    put(stack, &events.iter().map(earned).collect::<Vec<_>>()).await;
    put(stack, &events).await;
}

/// An administrator may add any user id. However many registrations it has, the employee of another
/// company with this id reads and gets registrations as before. So does the employee who has them.
#[tokio::test(flavor = "multi_thread")]
async fn the_registrations_of_a_namesake_change_nothing() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    register(&stack, THEIRS, 2_500, 2_000).await;
    register(&stack, OURS, 2, 10).await;
    for (company, count, pages) in [(OURS, 2, 1), (THEIRS, 2_500, 3)] {
        let admin = admin(&stack, company);
        create(&admin, company, &challenge("Walk", "2099-12-31")).await;
        let placed = json!({"role": "R", "department": "Sales"});
        assert_eq!(admin.put(&of_company(company, "employees/u"), &placed).await.status, 201);
        drained(&operator, "register-new-employee").await;
        let client = employee(&stack, company, "u");
        let (items, read) = client.all("/wellness/users/u/registrations?year=2099").await;
        let ids: BTreeSet<_> = items.iter().map(|item| item["activityId"].to_string()).collect();
        assert_eq!((items.len(), ids.len(), read), (count + 1, count + 1, pages), "{company}");
        assert!(items.iter().any(|item| item["name"] == "Walk"), "the new employee takes part in the challenge");
        let points = client.get("/wellness/users/u/points?year=2099").await;
        assert_eq!((points.status, &points.body["total"]), (200, &json!(count)), "{company}");
        let partition = format!("CompanyId-{company}#UserId-u#Registrations");
        assert_eq!(stored(&stack, Some("GSI3"), &partition).await.len(), count + 1);
        let (items, _) = operator.all(&format!("{}&year=2099&limit=100", registrations_of(company, "u"))).await;
        assert_eq!(items.len(), count + 1, "pages of 100");
    }
}
