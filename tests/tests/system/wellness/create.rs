//! Tests that create and read activities, templates, sections and records.

use keys::wellness::{
    ActivityId, ActivityPartition, ActivityType, CompanyId, EndDateSort, FacetRef, GroupId, GroupsPartition,
    GroupsSort, ListPartition, ProgramPartition, ProgramSort, Status, UseSort,
};
use local::Stack;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use system_tests::{
    Answer, Client, assert_problem, parsed,
    patterns::cost_of,
    text,
    units::{consumed, declared},
    wellness::{admin, challenge, create, employee, of_company, stack},
};
use table::{BatchWrite, Item, JsonText, Units};
use wellness::{
    Activity, Case, Detail, Filters, Goal, Group, GroupProgress, Groups, Record, Reference, Reward, Section, Template,
};

const END: &str = "2020-12-31T00:00:00";

/// Converts JSON to the form that the table stores.
fn json_text(json: &Value) -> JsonText {
    serde_json::from_value(json.to_string().into()).expect("JSON")
}

/// Reads all items of the table. Returns them by key.
async fn items(stack: &Stack) -> BTreeMap<(String, String), Value> {
    let client = stack.client().expect("a client");
    let table = stack.table("Activities").expect("a table");
    let mut pages = client.scan().table_name(table).consistent_read(true).into_paginator().items().send();
    let mut items = BTreeMap::new();
    while let Some(item) = pages.next().await {
        let item: Value = serde_dynamo::from_item(item.expect("an item")).expect("JSON");
        items.insert((text(&item, "PK").to_owned(), text(&item, "SK").to_owned()), item);
    }
    items
}

/// Reads the items of a partition. Returns them by sort key.
async fn collection(stack: &Stack, partition: &str) -> BTreeMap<String, Value> {
    let items = items(stack).await.into_iter().filter(|((of, _), _)| of == partition);
    items.map(|((_, sort), item)| (sort, item)).collect()
}

async fn count(stack: &Stack, kind: &str) -> usize {
    items(stack).await.values().filter(|item| item["Type"] == kind).count()
}

/// Returns the request path of a company's activities.
fn activities(company: &str) -> String {
    of_company(company, "activities")
}

fn one(company: &str, activity: &Value) -> String {
    of_company(company, &format!("activities/{}", text(activity, "activityId")))
}

/// Adds the URL-encoded levels to the path.
fn include(path: &str, levels: &str) -> String {
    format!("{path}?include={}", levels.replace('#', "%23").replace(' ', "%20"))
}

fn location(answer: &Answer) -> &str {
    answer.headers.get("location").and_then(|location| location.to_str().ok()).unwrap_or_default()
}

/// Returns the status, the location and the body, which the response to a retry must repeat.
fn said(answer: &Answer) -> (u16, &str, &Value) {
    (answer.status, location(answer), &answer.body)
}

fn faults_of(answer: &Answer) -> BTreeMap<&str, &str> {
    assert_problem(answer, 400, "invalid-request");
    let faults = answer.body["errors"].as_array().expect("faults");
    faults.iter().map(|of| (of["pointer"].as_str().expect("one"), of["detail"].as_str().expect("one"))).collect()
}

/// Returns the JSON object with some fields replaced or added.
fn with(json: &Value, members: &Value) -> Value {
    let mut all = json.as_object().cloned().expect("an object");
    all.extend(members.as_object().cloned().expect("an object"));
    all.into()
}

fn without(json: &Value, members: &[&str]) -> Value {
    let all = json.as_object().expect("an object").iter();
    let left = all.filter(|(name, _)| !members.contains(&name.as_str()));
    Value::Object(left.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>())
}

/// Puts section S-1 of company C-1. Returns the body of a request to create an activity with every
/// kind of part.
async fn everything(admin: &Client) -> Value {
    let section = json!({"name": "Spring", "startDate": "2020-03-01", "endDate": "2020-05-31"});
    assert!(admin.put(&of_company("C-1", "sections/S-1"), &section).await.status < 300);
    with(
        &challenge("Walk 5000", END),
        &json!({
            "status": "draft",
            "sectionId": "S-1",
            "enrolment": "automatic", "filters": {"roles": ["EmployeeOnPlan"], "departments": ["Sales"]},
            "detail": {"description": "Walk", "steps": 5000, "exact": [1.50, null]},
            "goal": {"type": "steps", "parameters": {"target": 5000}},
            "rewards": [
                {"kind": "Finish", "name": "Points", "amount": 12, "percent": 99.5},
                {"kind": "Attendance", "name": "Points", "amount": 40},
            ],
            "groups": {"type": "team", "rules": [], "items": [{"name": "Red"}, {"name": "Blue"}]},
            "data": {"colour": "red"},
            "references": [
                {"facet": "venues", "id": "123", "data": {"Name": "Blood Bank A"}},
                {"facet": "files", "id": "123", "data": {"Name": "Plan"}},
                {"facet": "courses", "id": "9", "data": {}},
                {"facet": "trackers", "id": "9", "data": {"unit": "km"}},
                {"facet": "notifications", "id": "9", "data": {"at": "noon"}},
            ],
        }),
    )
}

#[tokio::test]
async fn an_activity_is_one_item_collection_with_the_required_keys() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, "C-1");
    let answer = admin.post(&activities("C-1"), &everything(&admin).await).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let id = text(&answer.body, "activityId");
    assert_eq!(location(&answer), format!("/wellness/companies/C-1/activities/{id}"));
    let rows = collection(&stack, &format!("ActivityId-{id}")).await;
    let groups: Vec<&String> = rows.keys().filter(|sort| sort.starts_with("Program#Groups#GroupId-")).collect();
    assert_eq!(groups.len(), 2);
    let expected = [
        "Program",
        "Program#Course#CourseId-9",
        "Program#Detail",
        "Program#File#FileId-123",
        "Program#GoalPrimary",
        "Program#Groups",
        groups[0],
        groups[1],
        "Program#Notification#NotificationId-9",
        "Program#Reward#Attendance",
        "Program#Reward#Finish",
        "Program#Tracker#TrackerId-9",
        "Program#Venue#VenueId-123",
    ];
    assert_eq!(rows.keys().collect::<Vec<_>>(), expected);
    let row = &rows["Program"];
    for (attribute, value) in [
        ("Type", json!("Activity")),
        ("GSI1PK", json!("CompanyId-C-1#Program")),
        ("GSI1SK", json!("EndDate#2020-12-31T00:00:00")),
        ("GSI2PK", json!("CompanyId-C-1#Program#List")),
        ("GSI2SK", json!("EndDate#2020-12-31T00:00:00")),
        ("CompanyId", json!("C-1")),
        ("Name", json!("Walk 5000")),
        ("ActivityType", json!("challenge")),
        ("SubType", json!("Fitness")),
        ("Status", json!("draft")),
        ("StartDate", json!("2020-01-01T00:00:00")),
        ("SectionId", json!("S-1")),
        ("Filters", json!({"Roles": ["EmployeeOnPlan"], "Departments": ["Sales"]})),
        ("Data", json!(r#"{"colour":"red"}"#)),
        ("Version", json!(1)),
    ] {
        assert_eq!(row[attribute], value, "{attribute}");
    }
    let venue = &rows["Program#Venue#VenueId-123"];
    assert_eq!(venue["GSI2PK"], "CompanyId-C-1#VenueId-123");
    assert_eq!(venue["GSI2SK"], format!("draft#2020-12-31T00:00:00#ActivityId-{id}"));
    assert_eq!(venue["CopiedData"], r#"{"Name":"Blood Bank A"}"#);
    assert_eq!(rows["Program#Detail"]["Detail"], r#"{"description":"Walk","exact":[1.5,null],"steps":5000}"#);
    assert_eq!(rows["Program#GoalPrimary"]["GoalType"], "steps");
    assert_eq!(rows["Program#Reward#Finish"]["Amount"], 12);
    assert_eq!(
        (&rows["Program#Groups"]["GroupType"], &rows["Program#Groups"]["Rules"]),
        (&json!("team"), &json!("[]"))
    );
    stack.stop().await;
}

/// Returns the example rows of pattern 4, with the ids from the requirement.
fn seed() -> (Activity, Detail, Goal, Reward, Groups, [Group; 2], Reference) {
    let (company, id): (CompanyId, ActivityId) = (parsed("123"), parsed("123"));
    let (partition, end) = (ActivityPartition(id.clone()), EndDateSort(parsed(END)));
    let activity = Activity {
        partition: partition.clone(),
        sort: ProgramSort::Program,
        program: ProgramPartition(company.clone()),
        end,
        list: Some(ListPartition(company.clone())),
        list_end: Some(end),
        company: company.clone(),
        name: parsed("Walk 5000"),
        activity_type: ActivityType::Challenge,
        sub_type: parsed("Fitness"),
        status: Status::Active,
        start_date: parsed("2020-01-01T00:00:00"),
        section_id: None,
        filters: Filters { roles: vec![parsed("EmployeeOnPlan")], departments: vec![parsed("Sales")] },
        data: Some(json_text(&json!({"grouped": "no record of truth data"}))),
        capacity: None,
        enrolment: None,
        template_id: None,
        version: 1,
        created_at: parsed("2019-12-01T00:00:00Z"),
    };
    let sort = ProgramSort::Detail;
    let detail = Detail { partition: partition.clone(), sort, detail: json_text(&json!({"description": "Walk"})) };
    let (sort, parameters) = (ProgramSort::GoalPrimary, json_text(&json!({"target": 5000})));
    let goal = Goal { partition: partition.clone(), sort, goal_type: parsed("steps"), parameters };
    let reward = system_tests::wellness::reward(&partition.0.to_string(), "Attendance", 40, None);
    let (sort, rules) = (ProgramSort::Groups, json_text(&json!({"most": 10})));
    let (list, place) = (GroupsPartition::of(&id), GroupsSort { company: company.clone(), activity: id.clone() });
    let (list, place) = (Some(list), Some(place));
    let groups = Groups { partition: partition.clone(), sort, group_type: parsed("team"), rules, list, place };
    let group = |group: &str, name: &str, progress: f64| Group {
        partition: partition.clone(),
        sort: ProgramSort::Group(parsed::<GroupId>(group)),
        name: parsed(name),
        progress: GroupProgress::try_from(progress).expect("a progress"),
        members: None,
        as_of: None,
    };
    let each = [group("123", "Red", 40.4), group("456", "Blue", 20.0)];
    let place = UseSort { status: Status::Active, end: parsed(END), activity: id };
    let venue =
        Reference::new(company, parsed::<FacetRef>("VenueId-123"), place, json_text(&json!({"Name": "Blood Bank A"})));
    (activity, detail, goal, reward, groups, each, venue)
}

async fn put_seed(stack: &Stack) {
    let dynamo = system_tests::dynamo(stack);
    let table = dynamo.table(stack.table("Activities").expect("a table"));
    let (activity, detail, goal, reward, groups, each, venue) = seed();
    let mut batch = BatchWrite::default();
    batch.put(&table, &activity).expect("writable");
    batch.put(&table, &detail).expect("writable");
    batch.put(&table, &goal).expect("writable");
    batch.put(&table, &reward).expect("writable");
    batch.put(&table, &groups).expect("writable");
    for group in &each {
        batch.put(&table, group).expect("writable");
    }
    batch.put(&table, &venue).expect("writable");
    dynamo.batch_write(batch).await.expect("written");
}

#[tokio::test]
async fn returns_an_activity_as_in_the_requirement() {
    let stack = stack().clock(parsed("2020-06-01T00:00:00Z")).start().await.expect("a stack");
    put_seed(&stack).await;
    let rows = collection(&stack, "ActivityId-123").await;
    let sorts = [
        "Program",
        "Program#Detail",
        "Program#GoalPrimary",
        "Program#Groups",
        "Program#Groups#GroupId-123",
        "Program#Groups#GroupId-456",
        "Program#Reward#Attendance",
        "Program#Venue#VenueId-123",
    ];
    assert_eq!(rows.keys().collect::<Vec<_>>(), sorts);
    assert_eq!(rows["Program"]["GSI1PK"], "CompanyId-123#Program");
    assert_eq!(rows["Program"]["GSI1SK"], "EndDate#2020-12-31T00:00:00");
    let groups = json!({
        "type": "team",
        "rules": {"most": 10},
        "items": [
            {"groupId": "123", "name": "Red", "progress": 40.4},
            {"groupId": "456", "name": "Blue", "progress": 20.0},
        ],
    });
    let whole = json!({
        "activityId": "123",
        "companyId": "123",
        "name": "Walk 5000",
        "type": "challenge",
        "subType": "Fitness",
        "startDate": "2020-01-01T00:00:00Z",
        "endDate": "2020-12-31T00:00:00Z",
        "status": "active",
        "enrolment": "automatic", "filters": {"roles": ["EmployeeOnPlan"], "departments": ["Sales"]},
        "data": {"grouped": "no record of truth data"},
        "version": 1,
        "createdAt": "2019-12-01T00:00:00Z",
        "detail": {"description": "Walk"},
        "goal": {"type": "steps", "parameters": {"target": 5000}},
        "rewards": [{"kind": "Attendance", "name": "Points", "amount": 40}],
        "groups": groups,
        "references": [{"facet": "venues", "id": "123", "data": {"Name": "Blood Bank A"}}],
    });
    let (employee, path) = (employee(&stack, "123", "U-1"), "/wellness/companies/123/activities/123");
    let got = employee.get(&include(path, "Program")).await;
    assert_eq!((got.status, &got.body), (200, &whole));
    let got = employee.get(&include(path, "Program#Groups")).await;
    assert_eq!((got.status, &got.body), (200, &json!({"activityId": "123", "companyId": "123", "groups": groups})));
    stack.stop().await;
}

#[tokio::test]
async fn fields_of_an_activity_override_its_template() {
    let stack = stack().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, "C-1"), Client::operator(&stack));
    let content = json!({
        "name": "Template",
        "type": "event",
        "subType": "Health",
        "filters": {"roles": ["Nurse"]},
        "detail": {"from": "template", "exact": 1.50},
        "goal": {"type": "visits", "parameters": 3},
        "rewards": [{"kind": "Visit", "name": "Points", "amount": 10}],
        "groups": {"type": "shift", "rules": null, "items": [{"name": "Early"}]},
        "data": {"from": "template"},
    });
    let global = operator.post("/wellness/templates", &content).await;
    let own = admin.post(&of_company("C-1", "templates"), &content).await;
    let filled = with(&content, &json!({"filters": {"roles": ["Nurse"], "departments": []}}));
    for (template, path, scope, company) in [
        (&global, "/wellness/templates".to_owned(), "global", None),
        (&own, of_company("C-1", "templates"), "company", Some("C-1")),
    ] {
        assert_eq!(template.status, 201, "{}", template.body);
        let id = text(&template.body, "templateId");
        assert_eq!(location(template), format!("{path}/{id}"));
        let mut body = json!({"templateId": id, "scope": scope, "version": 1, "createdAt": template.body["createdAt"]});
        if let Some(company) = company {
            body["companyId"] = company.into();
        }
        assert_eq!(template.body, with(&filled, &body));
        let listed = admin.get(&path).await;
        assert_eq!((listed.status, &listed.body), (200, &json!({"items": [template.body]})));
        let dates = json!({"startDate": "2020-01-01", "endDate": "2020-12-31", "templateId": id});
        let made = create(&admin, "C-1", &dates).await;
        assert_eq!(made["templateId"], json!(id));
        let whole = admin.get(&one("C-1", &made)).await.body;
        for member in ["name", "type", "subType", "detail", "goal", "rewards", "data"] {
            assert_eq!(whole[member], content[member], "{member}");
        }
        assert_eq!(whole["filters"], filled["filters"]);
        assert_eq!(whole["groups"]["items"][0]["name"], "Early");
        let mine = with(&challenge("Walk", END), &json!({"templateId": id, "rewards": [], "data": {"from": "me"}}));
        let whole = admin.get(&one("C-1", &create(&admin, "C-1", &mine).await)).await.body;
        for member in ["name", "type", "subType", "filters", "detail", "goal", "rewards", "data"] {
            assert_eq!(whole[member], mine[member], "{member}");
        }
        assert_eq!(whole["groups"]["items"].as_array().map(Vec::len), Some(2));
    }
    stack.stop().await;
}

#[tokio::test]
async fn reports_fields_missing_from_activity_and_template() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, "C-1");
    let template = admin.post(&of_company("C-1", "templates"), &json!({"name": "Bare"})).await.body;
    let dates = json!({"startDate": "2020-01-01", "endDate": "2020-12-31", "templateId": template["templateId"]});
    let answer = admin.post(&activities("C-1"), &dates).await;
    assert_eq!(faults_of(&answer), [("/body/subType", "is missing"), ("/body/type", "is missing")].into());
    let answer = admin.post(&activities("C-1"), &with(&dates, &json!({"type": "event"}))).await;
    assert_eq!(faults_of(&answer), [("/body/subType", "is missing")].into());
    let made = create(&admin, "C-1", &with(&dates, &json!({"type": "event", "subType": "Health"}))).await;
    assert_eq!(made["name"], "Bare");
    let answer = admin.post(&activities("C-1"), &without(&dates, &["startDate", "endDate"])).await;
    assert_eq!(faults_of(&answer), [("/body/startDate", "is missing"), ("/body/endDate", "is missing")].into());
    let unknown = admin.post(&activities("C-1"), &with(&dates, &json!({"templateId": "none"}))).await;
    assert_problem(&unknown, 404, "not-found");
    assert_eq!(count(&stack, "Activity").await, 1);
    stack.stop().await;
}

#[tokio::test]
async fn a_record_of_each_facet_is_created_and_replaced() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, "C-1");
    let sent = json!({"name": "Blood Bank A", "data": {"Addr1": "211 Wabash Street"}});
    for (facet, sort) in [
        ("venues", "Venue#VenueId-123"),
        ("files", "File#FileId-123"),
        ("courses", "Course#CourseId-123"),
        ("trackers", "Tracker#TrackerId-123"),
        ("notifications", "Notification#NotificationId-123"),
    ] {
        let path = of_company("C-1", &format!("references/{facet}/123"));
        let answered = with(&sent, &json!({"facet": facet, "id": "123", "companyId": "C-1"}));
        let first = admin.put(&path, &sent).await;
        assert_eq!(said(&first), (201, path.as_str(), &answered));
        let item = json!({
            "PK": "CompanyId-C-1",
            "SK": sort,
            "Type": "ReferenceRecord",
            "Name": "Blood Bank A",
            "Data": r#"{"Addr1":"211 Wabash Street"}"#,
        });
        assert_eq!(collection(&stack, "CompanyId-C-1").await[sort], item);
        assert_eq!(admin.put(&path, &sent).await.status, 200);
    }
    let stranger =
        admin.put(&of_company("C-1", "references/places/123"), &json!({"name": 1, "data": [], "a": 1})).await;
    let pointers = ["/body/a", "/body/data", "/body/name", "/path/facet"];
    assert_eq!(faults_of(&stranger).into_keys().collect::<Vec<_>>(), pointers);
    let path = of_company("C-1", "references/venues/123");
    let before = items(&stack).await;
    let large = admin.put(&path, &json!({"name": "A", "data": {"a": "x".repeat(4 * 1024)}})).await;
    assert_problem(&large, 413, "too-large");
    assert_eq!(items(&stack).await, before);
    stack.stop().await;
}

/// Returns the body of a request to create an activity with this many rewards, groups and
/// references.
fn many(rewards: usize, groups: usize, references: usize) -> Value {
    let reward = |number| json!({"kind": format!("K{number}"), "name": "Points", "amount": number});
    let group = |number| json!({"name": format!("Group {number}")});
    let reference = |number| json!({"facet": "venues", "id": format!("V{number}"), "data": {"number": number}});
    with(
        &challenge("Walk", END),
        &json!({
            "rewards": (0..rewards).map(reward).collect::<Vec<_>>(),
            "groups": {"type": "team", "rules": {}, "items": (0..groups).map(group).collect::<Vec<_>>()},
            "references": (0..references).map(reference).collect::<Vec<_>>(),
        }),
    )
}

#[tokio::test]
async fn creates_the_largest_activity_and_rejects_larger_ones() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, "C-1");
    let most = admin.post_once(&activities("C-1"), "K", &many(10, 50, 25)).await;
    assert_eq!(most.status, 201, "{}", most.body);
    let got = admin.get(&one("C-1", &most.body)).await.body;
    let names: Vec<String> =
        got["groups"]["items"].as_array().expect("groups").iter().map(|group| text(group, "name").to_owned()).collect();
    assert_eq!(names, (0..50).map(|number| format!("Group {number}")).collect::<Vec<_>>());
    let length = |member: &str| got[member].as_array().map(Vec::len);
    assert_eq!((length("rewards"), length("references")), (Some(10), Some(25)));
    let before = items(&stack).await;
    for (activity, pointer) in [
        (many(11, 0, 0), "/body/rewards"),
        (many(0, 51, 0), "/body/groups/items"),
        (many(0, 0, 26), "/body/references"),
    ] {
        let answer = admin.post(&activities("C-1"), &activity).await;
        assert_eq!(faults_of(&answer).into_keys().collect::<Vec<_>>(), [pointer]);
    }
    let large = |bytes: usize| json!({"a": "x".repeat(bytes)});
    for (members, kind) in [
        (json!({"data": large(8 * 1024)}), "Activity"),
        (json!({"detail": large(16 * 1024)}), "Detail"),
        (json!({"goal": {"type": "steps", "parameters": large(16 * 1024)}}), "Goal"),
        (json!({"groups": {"type": "team", "rules": large(16 * 1024), "items": []}}), "Groups"),
        (json!({"references": [{"facet": "venues", "id": "1", "data": large(4 * 1024)}]}), "Reference"),
    ] {
        let answer = admin.post(&activities("C-1"), &with(&challenge("Walk", END), &members)).await;
        assert_problem(&answer, 413, "too-large");
        assert!(text(&answer.body, "detail").starts_with(&format!("{kind} must not exceed")), "{}", answer.body);
    }
    assert_eq!(items(&stack).await, before);
    let fitting = json!({
        "data": large(7 * 1024),
        "detail": large(15 * 1024),
        "references": [{"facet": "venues", "id": "1", "data": large(3 * 1024)}],
    });
    create(&admin, "C-1", &with(&challenge("Walk", END), &fitting)).await;
    stack.stop().await;
}

fn assert_costs(function: &str, case: &Case, answer: &Answer, more: u64) {
    let cost = cost_of(&wellness::patterns(), function, case).read("Activities", Units::whole(more));
    assert!((200..300).contains(&answer.status), "{function}: {}", answer.body);
    assert_eq!(consumed(answer), declared(&cost), "{function} of {case:?}");
}

/// Returns the size of an item in bytes, as defined by DynamoDB.
fn bytes<T: Item>(item: &Value) -> usize {
    let item: T = serde_json::from_value(item.clone()).expect("an item");
    table::size(&item).expect("a size")
}

/// Returns the size of the named attributes.
fn attributes(item: &Value, names: &[&str]) -> usize {
    names.iter().map(|name| name.len() + item[*name].as_str().expect("a text").len()).sum()
}

/// Returns the input of the cost formulas, measured on the stored activity. The size of a part is
/// the mean of all parts.
async fn weighed(stack: &Stack, activity: &Value, key: Option<&str>) -> Case {
    let rows = collection(stack, &format!("ActivityId-{}", text(activity, "activityId"))).await;
    let row = &rows["Program"];
    let activity = bytes::<Activity>(row);
    let references: Vec<_> = rows.values().filter(|row| row["Type"] == "Reference").collect();
    let parts: Vec<usize> = rows.values().filter_map(part_bytes).collect();
    let record = match key {
        Some(key) => Some(record_bytes(stack, key).await),
        None => None,
    };
    Case {
        activity,
        program: activity - attributes(row, &["GSI2PK", "GSI2SK"]),
        narrow: attributes(row, &["PK", "SK", "GSI2PK", "GSI2SK", "Name", "ActivityType", "SubType", "Status"])
            + NO_FILTERS,
        part: parts.iter().sum::<usize>().div_ceil(parts.len()),
        parts: parts.len(),
        groups: rows.values().filter(|row| row["Type"] == "Groups").count(),
        reference: references.first().map_or(0, |row| bytes::<Reference>(row)),
        references: references.len(),
        record,
        ..Case::default()
    }
}

/// Size of the attribute `Filters`: a map of two empty lists, including all names.
const NO_FILTERS: usize = "Filters".len() + 3 + 2 * (1 + 3) + "Roles".len() + "Departments".len();

fn part_bytes(row: &Value) -> Option<usize> {
    Some(match row["Type"].as_str()? {
        "Detail" => bytes::<Detail>(row),
        "Goal" => bytes::<Goal>(row),
        "Reward" => bytes::<Reward>(row),
        "Groups" => bytes::<Groups>(row),
        "Group" => bytes::<Group>(row),
        _ => return None,
    })
}

/// An item with arbitrary attributes.
#[derive(serde::Serialize, serde::Deserialize)]
struct Any(BTreeMap<String, Value>);

impl Item for Any {
    const TYPE: &'static str = "IdempotencyRecord";
}

async fn record_bytes(stack: &Stack, key: &str) -> usize {
    bytes::<Any>(&collection(stack, "CompanyId-C-1").await[&format!("IDEMPOTENCY#{key}")])
}

/// Returns the body of a request to create an activity with `data` bytes of data. Each of its
/// references copies `copied` bytes.
fn weighing(data: usize, references: usize, copied: usize) -> Value {
    let text = |bytes: usize| json!({"text": "x".repeat(bytes)});
    let venue = |number: usize| json!({"facet": "venues", "id": format!("V{number:02}"), "data": text(copied)});
    let references: Vec<Value> = (0..references).map(venue).collect();
    with(&challenge("Walk", END), &json!({"data": text(data), "references": references}))
}

#[tokio::test]
async fn an_activity_consumes_its_declared_cost() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, "C-1");
    for (data, references, copied) in [(10, 0, 0), (10, 3, 10), (1_100, 25, 1_500), (7_000, 8, 3_000)] {
        let activity = weighing(data, references, copied);
        let made = admin.post(&activities("C-1"), &activity).await;
        let case = weighed(&stack, &made.body, None).await;
        assert_eq!((case.parts, case.references), (6, references));
        assert_costs("create-activity", &case, &made, 0);
        let path = one("C-1", &made.body);
        assert_costs("get-activity", &case, &admin.get(&path).await, 0);
        let key = format!("K-{references}");
        let keyed = admin.post_once(&activities("C-1"), &key, &activity).await;
        assert_costs("create-activity", &weighed(&stack, &keyed.body, Some(&key)).await, &keyed, 0);
        let groups = admin.get(&include(&path, "Program#Groups")).await;
        assert_costs("get-activity, one level", &case, &groups, 0);
    }
    stack.stop().await;
}

/// Returns the input of the cost formulas for a stored item of the company.
async fn own<T: Item>(stack: &Stack, sort: &str) -> Case {
    Case { own: bytes::<T>(&collection(stack, "CompanyId-C-1").await[sort]), items: 1, ..Case::default() }
}

#[tokio::test]
async fn a_section_and_a_record_consume_their_declared_cost() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, "C-1");
    for name in ["S".to_owned(), "\u{1F4A7}".repeat(200)] {
        let section = json!({"name": name, "startDate": "2020-03-01", "endDate": "2020-05-31"});
        let put =
            admin.put(&of_company("C-1", &format!("sections/{}", "S".repeat(120 + name.len() / 100))), &section).await;
        let sort = format!("Section#SectionId-{}", text(&put.body, "sectionId"));
        assert_costs("put-section", &own::<Section>(&stack, &sort).await, &put, 0);
        let within = with(&challenge("Walk", END), &json!({"sectionId": put.body["sectionId"]}));
        let made = admin.post(&activities("C-1"), &within).await;
        assert_costs("create-activity", &weighed(&stack, &made.body, None).await, &made, 1);
    }
    for bytes in [10, 3_000] {
        let record = json!({"name": "Blood Bank A", "data": {"text": "x".repeat(bytes)}});
        let put = admin.put(&of_company("C-1", "references/venues/123"), &record).await;
        assert_costs("put-reference", &own::<Record>(&stack, "Venue#VenueId-123").await, &put, 0);
    }
    stack.stop().await;
}

#[tokio::test]
async fn a_template_consumes_its_declared_cost() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, "C-1");
    let path = of_company("C-1", "templates");
    let essentials = json!({"name": "T", "type": "event", "subType": "Health"});
    let template = with(&essentials, &json!({"detail": {"text": "x".repeat(15 * 1024)}}));
    let made = admin.post(&path, &template).await;
    let sort = format!("Template#TemplateId-{}", text(&made.body, "templateId"));
    let case = own::<Template>(&stack, &sort).await;
    assert_costs("create-template", &case, &made, 0);
    assert_costs("list-templates", &case, &admin.get(&path).await, 0);
    let keyed = admin.post_once(&path, "K", &template).await;
    let record = Some(record_bytes(&stack, "K").await);
    assert_costs("create-template", &Case { record, ..case }, &keyed, 0);
    let dates = json!({"startDate": "2020-01-01", "endDate": "2020-12-31", "detail": {}});
    let of_it = with(&dates, &json!({"templateId": made.body["templateId"]}));
    let made = admin.post(&activities("C-1"), &of_it).await;
    let reads = 1 + u64::try_from(case.own.div_ceil(4 * 1024)).expect("few");
    assert_costs("create-activity", &weighed(&stack, &made.body, None).await, &made, reads);
    stack.stop().await;
}
