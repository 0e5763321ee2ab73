//! Tests of the routes that list the activities of a venue, and that replace or update the venue
//! (docs/requirements/wellness.md#pattern-5-find-and-update-the-activities-of-a-venue).

use jiff::Timestamp;
use jobs::Job;
use keys::wellness::{Facet, Status};
use serde_json::{Value, json};
use system_tests::{
    Answer, Asks, Client, assert_problem, text, texts, until,
    wellness::references::{Rows, activity, in_2020, named, path, read, record, reference, step_of},
    wellness::{admin, employee, of_company, stack},
};
use wellness::{Activity, Record, Reference};

const CONTINUE: &str = "continue-job";
const YEAR: &str = "?from=2020-01-01&to=2020-12-31";

fn blood_bank(name: &str, address: &str) -> Value {
    json!({"Name": name, "Addr1": address, "City": "Chicago", "ST": "IL", "Postal": "60606"})
}

fn replaced_by(id: &str, data: &Value) -> Value {
    json!({"replacementId": id, "data": data})
}

fn job(client_path: &str, id: &str) -> String {
    of_company(client_path, &format!("jobs/{id}"))
}

fn is_done(answer: &Answer) -> bool {
    answer.body["status"] == "done"
}

/// Returns the activity ids on all pages of a list.
async fn listed(client: &Client, path: &str) -> Vec<String> {
    let (items, _) = client.all(path).await;
    texts(&items, "activityId").into_iter().map(str::to_owned).collect()
}

/// Invokes the job function until the job is done. The stack must not have the event source mapping
/// of the jobs.
async fn finish(client: &Client, company: &str, id: &str) -> Value {
    for _ in 0..100 {
        let answer = client.get(&job(company, id)).await;
        if is_done(&answer) {
            return answer.body;
        }
        let run = client.invoke(CONTINUE, &step_of(company, id)).await;
        assert_eq!(run.body, json!({"batchItemFailures": []}));
    }
    unreachable!("the job {id} does not end");
}

#[tokio::test]
async fn replaces_and_updates_a_venue_as_in_the_requirement() {
    let stack = stack().clock(read("2020-01-01T00:00:00Z")).start().await.expect("a stack");
    let (rows, client) = (Rows::of(&stack), admin(&stack, "123"));
    let bank_a = blood_bank("Blood Bank A", "211 Wabash Street");
    let end = "2020-12-31T00:00:00";
    let activities = ["123", "456", "789"].map(|id| activity("123", id, Status::Active, end));
    rows.put_uses(&activities, "VenueId-123", &bank_a).await;
    let theirs = activity("456", "theirs", Status::Active, end);
    rows.put_uses(std::slice::from_ref(&theirs), "VenueId-123", &bank_a).await;

    let of_a = path("123", "venues", "123", &format!("/activities{YEAR}"));
    let item = |id: &str, data: &Value| json!({"activityId": id, "status": "active", "endDate": "2020-12-31T00:00:00Z", "data": data});
    let all = |data: &Value| ["123", "456", "789"].map(|id| item(id, data));
    assert_eq!(client.get(&of_a).await.body, json!({"items": all(&bank_a)}));

    let bank_b = blood_bank("Blood Bank B", "211 Wabash Street");
    rows.put(&[record("123", "VenueId-456", &bank_b)]).await;
    let replace = path("123", "venues", "123", &format!("/replacement{YEAR}"));
    let started = client.post(&replace, &replaced_by("456", &bank_b)).await;
    assert_eq!(started.status, 202, "{}", started.body);
    let location = "/wellness/companies/123/jobs/VenueId-123";
    assert_eq!(started.headers["location"], location);
    assert_eq!(
        started.body,
        json!({"jobId": "VenueId-123", "kind": "replacement", "status": "running", "done": 0, "left": 3})
    );
    let ended = until(&client, location, is_done).await;
    assert_eq!(
        ended.body,
        json!({"jobId": "VenueId-123", "kind": "replacement", "status": "done", "done": 3, "left": 0})
    );
    let of_b = path("123", "venues", "456", &format!("/activities{YEAR}"));
    assert_eq!(client.get(&of_a).await.body, json!({"items": []}));
    assert_eq!(client.get(&of_b).await.body, json!({"items": all(&bank_b)}));

    let again = client.post(&replace, &replaced_by("456", &bank_b)).await;
    assert_eq!((again.status, &again.body["left"]), (202, &json!(0)), "{}", again.body);
    until(&client, location, is_done).await;
    assert_eq!(client.get(&of_b).await.body, json!({"items": all(&bank_b)}), "a repeated replacement changes nothing");

    let moved = blood_bank("Blood Bank B", "311 Wabash Street");
    let update = path("123", "venues", "456", YEAR);
    let started = client.patch(&update, &json!({"data": moved})).await;
    assert_eq!(started.status, 202, "{}", started.body);
    assert_eq!(started.body["kind"], "update");
    let ended = until(&client, &job("123", "VenueId-456"), is_done).await;
    assert_eq!((&ended.body["done"], &ended.body["left"]), (&json!(3), &json!(0)));
    assert_eq!(client.get(&of_b).await.body, json!({"items": all(&moved)}));
    let venue: Option<Record> =
        rows.table.get(&Record::key_of(&read("123"), &read("VenueId-456"))).await.expect("read");
    let venue = Record { revision: None, ..venue.expect("the venue") };
    assert_eq!(venue, record("123", "VenueId-456", &moved), "the record has the new address");
    for activity in &activities {
        assert_eq!(rows.venues(activity.id()).await, [reference(activity, "VenueId-456", &moved)]);
    }
    assert_eq!(rows.venues(theirs.id()).await, [reference(&theirs, "VenueId-123", &bank_a)], "another company");
}

#[tokio::test]
async fn each_facet_has_its_own_references() {
    let stack = in_2020().start().await.expect("a stack");
    let (rows, client) = (Rows::of(&stack), admin(&stack, "C"));
    let walk = activity("C", "walk", Status::Active, "2020-12-31T00:00:00");
    rows.put(std::slice::from_ref(&walk)).await;
    for facet in Facet::ALL.map(Facet::as_str) {
        rows.put(&[reference(&walk, &named(facet, "1").to_string(), &json!({"of": facet}))]).await;
    }
    for facet in Facet::ALL.map(Facet::as_str) {
        let (id, data) = (named(facet, "1").to_string(), json!({"new": facet}));
        let replace = path("C", facet, "1", &format!("/replacement{YEAR}"));
        let started = client.post(&replace, &replaced_by("2", &data)).await;
        assert_eq!((started.status, &started.body["jobId"]), (202, &json!(id)), "{facet}: {}", started.body);
        assert_eq!(finish(&client, "C", &id).await["done"], 1, "{facet}");
        let list = async |id: &str| client.get(&path("C", facet, id, &format!("/activities{YEAR}"))).await.body;
        assert_eq!(list("1").await["items"], json!([]), "{facet}");
        assert_eq!(list("2").await["items"][0]["data"], data, "{facet}");
    }
}

/// The time of the requests. `ENDS` contains end dates before and after this time.
fn noon() -> Timestamp {
    "2020-06-15T12:00:00Z".parse().expect("a time")
}

const ENDS: [&str; 6] = [
    "2020-06-14T23:59:59",
    "2020-06-15T00:00:00",
    "2020-06-15T11:59:59",
    "2020-06-15T12:00:00",
    "2020-12-31T00:00:00",
    "2021-01-01T00:00:00",
];

/// Whether this one of the `ENDS` is over at `noon`. The second one is the date of the day.
fn has_ended(number: usize) -> bool {
    [0, 2].contains(&number)
}

/// Puts one activity for each status and end date, all with the same venue.
async fn of_all_kinds(rows: &Rows, company: &str) -> Vec<Activity> {
    let one = |status: Status, number: usize| {
        activity(company, &format!("{company}-{status}-{number}"), status, ENDS[number])
    };
    let all: Vec<_> =
        Status::ALL.into_iter().flat_map(|status| (0..ENDS.len()).map(move |end| one(status, end))).collect();
    rows.put_uses(&all, "VenueId-1", &json!({"v": 1})).await;
    all
}

/// Query strings, each with the positions in `ENDS` of the end dates that are within the period.
/// The requests are sent at `noon`.
const PERIODS: [(&str, &[usize]); 5] = [
    ("", &[1, 2, 3, 4, 5]),
    ("to=2020-12-31", &[1, 2, 3, 4]),
    ("from=2020-06-15T00:00:01", &[2, 3, 4, 5]),
    ("from=2000-01-01&to=2020-06-15T12:00:00Z", &[0, 1, 2, 3]),
    ("from=2020-12-31&to=2020-12-31", &[4]),
];

/// Status filters of the list. Active and completed activities share a range of keys.
const SHOWN: [&str; 8] = [
    "active",
    "cancelled",
    "completed",
    "draft",
    "active,completed",
    "draft,cancelled",
    "draft,active",
    "completed,draft,cancelled,active",
];

fn asks<'a>(route: &'a str, path: &'a str, body: Option<&'a Value>) -> Asks<'a> {
    let mut parts = path.split('/').skip(3);
    let mut part = |skipped: usize| parts.nth(skipped).map(|part| part.split('?').next().unwrap_or_default());
    let parameters = json!({"companyId": part(0), "facet": part(1), "facetId": part(0)});
    Asks { route, path, parameters, key: None, body }
}

fn body(answer: &Answer) -> Value {
    serde_json::from_str(answer.body["body"].as_str().expect("a body")).expect("JSON")
}

#[tokio::test]
async fn the_default_period_starts_today() {
    let stack = in_2020().start().await.expect("a stack");
    let (rows, client) = (Rows::of(&stack), Client::operator(&stack));
    of_all_kinds(&rows, "list").await;
    for (query, numbers) in PERIODS {
        for statuses in SHOWN {
            let path = path("list", "venues", "1", &format!("/activities?status={statuses}&{query}"));
            let route = "GET /wellness/companies/{companyId}/references/{facet}/{facetId}/activities";
            let answer =
                client.invoke("list-references", &asks(route, path.trim_end_matches('&'), None).at(noon())).await;
            let items = body(&answer)["items"].clone();
            let is_shown = |(stored, number): &(Status, usize)| {
                let shown = match stored {
                    Status::Active if has_ended(*number) => "completed",
                    Status::Active => "active",
                    Status::Cancelled => "cancelled",
                    Status::Draft => "draft",
                };
                statuses.split(',').any(|status| status == shown)
            };
            let all = Status::ALL.into_iter().flat_map(|stored| numbers.iter().map(move |number| (stored, *number)));
            let ids: Vec<_> =
                all.filter(is_shown).map(|(stored, number)| json!(format!("list-{stored}-{number}"))).collect();
            let found: Vec<_> =
                items.as_array().expect("items").iter().map(|item| item["activityId"].clone()).collect();
            assert_eq!(found, ids, "{statuses} {query}");
        }
    }
    for (number, (query, numbers)) in PERIODS.into_iter().enumerate() {
        // Activities that have ended are completed, and keep their references.
        let numbers: Vec<_> = numbers.iter().filter(|number| !has_ended(**number)).collect();
        let touched = |activity: &Activity| {
            let open = [Status::Active, Status::Draft].contains(&activity.status);
            open && numbers.iter().any(|number| activity.end() == read(ENDS[**number]))
        };
        for (function, method, rest, sent, of) in [
            ("replace-reference", "POST", "/replacement", replaced_by("2", &json!({"v": 2})), "VenueId-2"),
            ("update-reference", "PATCH", "", json!({"data": {"v": 2}}), "VenueId-1"),
        ] {
            let company = format!("{function}-{number}");
            let all = of_all_kinds(&rows, &company).await;
            rows.put(&[record(&company, "VenueId-1", &json!({}))]).await;
            let route = format!("{method} /wellness/companies/{{companyId}}/references/{{facet}}/{{facetId}}{rest}");
            let path = path(&company, "venues", "1", &format!("{rest}?{query}"));
            let event = asks(&route, path.trim_end_matches('?'), Some(&sent)).at(noon());
            assert_eq!(body(&client.invoke(function, &event).await)["left"], json!(numbers.len() * 2), "{query}");
            finish(&client, &company, "VenueId-1").await;
            for activity in &all {
                let (of, data) = if touched(activity) { (of, 2) } else { ("VenueId-1", 1) };
                assert_eq!(rows.venues(activity.id()).await, [reference(activity, of, &json!({"v": data}))], "{query}");
            }
        }
    }
}

#[tokio::test]
async fn lists_references_in_pages_sorted_by_end_date() {
    let stack = in_2020().start().await.expect("a stack");
    let (rows, client) = (Rows::of(&stack), employee(&stack, "C", "U"));
    let end = |number: usize| format!("2020-{:02}-{:02}T00:00:00", 12 - number % 12, 1 + number % 7);
    let all: Vec<_> =
        (0..25).map(|number| activity("C", &format!("A{number}"), Status::Active, &end(number))).collect();
    rows.put_uses(&all, "VenueId-1", &json!({})).await;
    let mut sorted: Vec<_> = all.iter().map(|activity| (activity.end(), activity.id().to_string())).collect();
    sorted.sort();
    let sorted: Vec<_> = sorted.into_iter().map(|(_, id)| id).collect();
    let list = path("C", "venues", "1", &format!("/activities{YEAR}"));
    let others = [Status::Cancelled, Status::Draft].map(|status| {
        (0..5).map(|number| activity("C", &format!("{status}-{number}"), status, &end(number))).collect::<Vec<_>>()
    });
    rows.put_uses(&others.concat(), "VenueId-1", &json!({})).await;
    let admin = admin(&stack, "C");
    let whole = format!("{list}&status=draft,active,cancelled,completed");
    let all = listed(&admin, &whole).await;
    assert_eq!((&all[..25], all.len()), (&sorted[..], 35));
    assert!(
        all[25..30].iter().all(|id| id.starts_with("cancelled-"))
            && all[30..].iter().all(|id| id.starts_with("draft-"))
    );
    for limit in [1, 7, 25, 30, 35] {
        assert_eq!(listed(&admin, &format!("{whole}&limit={limit}")).await, all, "{limit}");
    }
    assert_eq!(
        listed(&client, &format!("{whole}&limit=2")).await,
        sorted,
        "employees see neither drafts nor cancelled activities"
    );
    let first = client.get(&format!("{list}&limit=5")).await;
    let cursor = first.body["nextCursor"].as_str().expect("a cursor");
    for other in [
        path("C", "venues", "2", &format!("/activities{YEAR}")),
        path("C", "files", "1", &format!("/activities{YEAR}")),
        path("C", "venues", "1", "/activities?from=2020-01-02&to=2020-12-31"),
        path("C", "venues", "1", &format!("/activities{YEAR}&status=draft")),
    ] {
        let answer = client.get(&format!("{other}&cursor={cursor}")).await;
        assert_eq!((answer.status, &answer.body["errors"][0]["pointer"]), (400, &json!("/query/cursor")), "{other}");
    }
}

/// A page that contains an unreadable reference has a next page.
#[tokio::test]
async fn an_unreadable_reference_does_not_end_the_list() {
    let stack = in_2020().start().await.expect("a stack");
    let (rows, client) = (Rows::of(&stack), admin(&stack, "C"));
    let all = ["1", "2", "3"].map(|day| activity("C", day, Status::Active, &format!("2020-12-0{day}T00:00:00")));
    rows.put_uses(&all, "VenueId-1", &json!({})).await;
    let unreadable = rows.table.update(Reference::key_of(all[1].id(), &read("VenueId-1")));
    rows.dynamo.write(unreadable.set(Reference::COPIED_DATA, 1)).await.expect("written");
    let list = path("C", "venues", "1", &format!("/activities{YEAR}"));
    for limit in ["", "&limit=1", "&limit=2"] {
        assert_eq!(listed(&client, &format!("{list}{limit}")).await, ["1", "3"], "{limit}");
    }
}

#[tokio::test]
async fn rejects_references_larger_than_4_kb() {
    let stack = in_2020().start().await.expect("a stack");
    let (rows, client) = (Rows::of(&stack), admin(&stack, "C"));
    // The id is as long as a generated id.
    let long = activity("C", &"a".repeat(32), Status::Cancelled, "2020-12-31T00:00:00");
    let empty = table::size(&reference(&long, "VenueId-2", &json!({"text": ""}))).expect("a size");
    rows.put(&[record("C", "VenueId-2", &json!({}))]).await;
    for (room, status) in [(4096 - empty, 202), (4097 - empty, 413)] {
        let data = json!({"text": "x".repeat(room)});
        for answer in [
            client.post(&path("C", "venues", "1", "/replacement"), &replaced_by("3", &data)).await,
            client.patch(&path("C", "venues", "2", ""), &json!({"data": data})).await,
        ] {
            assert_eq!(answer.status, status, "{}", answer.body);
        }
        for venue in ["VenueId-1", "VenueId-2"].into_iter().filter(|_| status == 202) {
            finish(&client, "C", venue).await;
        }
    }
}

#[tokio::test]
async fn a_venue_has_one_job_at_a_time() {
    let stack = in_2020().start().await.expect("a stack");
    let (rows, client) = (Rows::of(&stack), admin(&stack, "C"));
    let old = json!({"v": 1});
    rows.put_uses(&[activity("C", "A", Status::Active, "2020-12-31T00:00:00")], "VenueId-1", &old).await;
    for venue in ["VenueId-1", "VenueId-2"] {
        rows.put(&[record("C", venue, &old)]).await;
    }
    let replace = async |from: &str, to: &str| {
        client
            .post(&path("C", "venues", from, &format!("/replacement{YEAR}")), &replaced_by(to, &json!({"v": 2})))
            .await
    };
    let update = async |id: &str| client.patch(&path("C", "venues", id, YEAR), &json!({"data": {"v": 3}})).await;
    let refused = |answer: Answer, way: &str| {
        assert_problem(&answer, 409, "job-under-way");
        assert!(text(&answer.body, "detail").contains("VenueId-1"), "{way}: {}", answer.body);
    };
    let started = replace("1", "2").await;
    assert_eq!((started.status, &started.body["left"]), (202, &json!(1)));
    let nudged = async || rows.job("C", "VenueId-1").await.nudged_by;
    let before = nudged().await;
    refused(replace("1", "3").await, "another replacement of the same venue");
    refused(update("1").await, "an update of the replaced venue");
    refused(update("2").await, "an update of the new venue");
    refused(replace("2", "3").await, "a replacement of the new venue");
    refused(replace("2", "1").await, "a replacement in the opposite direction");
    refused(replace("3", "1").await, "a replacement by the replaced venue");
    refused(replace("3", "2").await, "a second replacement by the new venue");
    let other_time = path("C", "venues", "1", "/replacement?from=2020-01-01&to=2020-12-30");
    refused(client.post(&other_time, &replaced_by("2", &json!({"v": 2}))).await, "another period");
    let venue: Option<Record> = rows.table.get(&Record::key_of(&read("C"), &read("VenueId-1"))).await.expect("read");
    assert_eq!(
        venue.expect("the venue").data,
        record("C", "VenueId-1", &old).data,
        "a rejected request changes nothing"
    );

    let run = rows.job("C", "VenueId-1").await;
    assert_ne!(run.nudged_by, before, "a refused request wakes the job");
    let not_nudged = |job: Job| Job { nudged_by: None, ..job };
    let again = replace("1", "2").await;
    assert_eq!(
        (again.status, &again.body, &again.headers["location"]),
        (202, &started.body, &started.headers["location"])
    );
    assert_ne!(nudged().await, run.nudged_by, "a repeated request wakes the job");
    assert_eq!(not_nudged(rows.job("C", "VenueId-1").await), not_nudged(run), "the job has not changed");
    assert_eq!(
        client.post(&path("C", "files", "1", "/replacement"), &replaced_by("2", &json!({}))).await.status,
        202,
        "a file with the same id has its own job"
    );

    assert_eq!(finish(&client, "C", "VenueId-1").await["done"], 1);
    let started = update("2").await;
    assert_eq!((started.status, &started.body["left"]), (202, &json!(1)), "{}", started.body);
    assert_problem(&replace("1", "2").await, 409, "job-under-way");
    assert_eq!(update("2").await.body, started.body, "while VenueId-2 is being updated");
    finish(&client, "C", "VenueId-2").await;
    let back = replace("2", "1").await;
    assert_eq!((back.status, &back.body["left"]), (202, &json!(1)), "{}", back.body);
    finish(&client, "C", "VenueId-2").await;
    assert_eq!(
        rows.venues(&read("A")).await[0].of(),
        &named("venues", "1"),
        "the activity refers to the first venue again"
    );
}

#[tokio::test]
async fn a_replacement_overwrites_an_existing_reference_to_the_new_venue() {
    let stack = in_2020().start().await.expect("a stack");
    let (rows, client) = (Rows::of(&stack), admin(&stack, "C"));
    let both = activity("C", "A", Status::Draft, "2020-12-31T00:00:00");
    rows.put_uses(std::slice::from_ref(&both), "VenueId-1", &json!({"v": 1})).await;
    rows.put(&[reference(&both, "VenueId-2", &json!({"v": 2})), reference(&both, "VenueId-3", &json!({"v": 3}))]).await;
    client.post(&path("C", "venues", "1", &format!("/replacement{YEAR}")), &replaced_by("2", &json!({"v": 4}))).await;
    assert_eq!(finish(&client, "C", "VenueId-1").await["done"], 1);
    let left = [reference(&both, "VenueId-2", &json!({"v": 4})), reference(&both, "VenueId-3", &json!({"v": 3}))];
    assert_eq!(rows.venues(both.id()).await, left);
}

#[tokio::test]
async fn an_update_skips_references_that_are_up_to_date() {
    let stack = in_2020().start().await.expect("a stack");
    let (rows, client) = (Rows::of(&stack), admin(&stack, "C"));
    let all: Vec<_> =
        (0..130).map(|number| activity("C", &format!("A{number}"), Status::Active, "2020-12-31T00:00:00")).collect();
    rows.put_uses(&all, "VenueId-1", &json!({"v": 1})).await;
    rows.put_uses(&all[60..], "VenueId-1", &json!({"v": 2})).await;
    rows.put(&[record("C", "VenueId-1", &json!({}))]).await;
    let started = client.patch(&path("C", "venues", "1", YEAR), &json!({"data": {"v": 2}})).await;
    assert_eq!((started.status, &started.body["left"]), (202, &json!(60)), "{}", started.body);
    let ended = finish(&client, "C", "VenueId-1").await;
    assert_eq!(ended, json!({"jobId": "VenueId-1", "kind": "update", "status": "done", "done": 60, "left": 0}));
    for activity in &all {
        assert_eq!(rows.venues(activity.id()).await, [reference(activity, "VenueId-1", &json!({"v": 2}))]);
    }
}
