//! Tests of values that requests set and that later requests read: JSON texts, rewards, rules of
//! groups, levels, plans, types of files, free seats, and failed events
//! (docs/requirements/wellness.md).

use keys::wellness::TicketSort;
use local::in_process::InProcess;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use system_tests::{
    Answer, Client, assert_problem, text,
    wellness::{admin, challenge, create, files::file_of, of_company, stack},
    world::{NOW, empty, send_as, settle},
};

const COMPANY: &str = "1";
const END: &str = "2099-12-31T23:59:59";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

/// Sends a JSON text. Returns the text of the created item.
async fn created(client: &Client, path: &str, body: &str) -> String {
    let post = client.request("POST", path).header("content-type", "application/json").body(body.to_owned());
    let (status, headers, text) = post.send().await;
    assert_eq!(status, 201, "{text}");
    client.request("GET", headers["location"].to_str().expect("a path")).send().await.2
}

#[tokio::test]
async fn json_is_returned_as_it_was_sent() {
    let stack = stack().start().await.expect("a stack");
    let parts = r#""filters":{"roles":["Nurse"],"departments":[]},"detail":{"b": 1.50, "a":1e30},"goal":{"type":"steps","parameters":[0.10]},"rewards":[{"kind":"A","name":"B","amount":10,"percent":0.1}],"groups":{"type":"team","rules":null,"items":[]},"data":{}"#;
    let template = format!(r#"{{"name":"Walk","type":"challenge","subType":"Fitness",{parts}}}"#);
    let found = created(&Client::operator(&stack), "/wellness/templates", &template).await;
    assert!(found.contains(&template[1..template.len() - 1]), "{found}");
    let dates = r#""startDate":"2099-01-01","endDate":"2099-12-31""#;
    let activity = template.replacen('{', &format!("{{{dates},"), 1);
    let found = created(&admin(&stack, COMPANY), &of("activities"), &activity).await;
    for part in [r#""detail":{"b": 1.50, "a":1e30}"#, r#""parameters":[0.10]"#, r#""rules":null"#] {
        assert!(found.contains(part), "{part}: {found}");
    }
}

#[tokio::test]
async fn invalid_rewards_rules_and_levels_are_rejected() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let goal = |member: &str, value: Value| {
        let mut reward = json!({"kind": "Goal", "name": "Points", "amount": 40});
        reward[member] = value;
        reward
    };
    let amounts = [json!(-1), json!(1.5), json!(1_000_001), json!(""), json!(null), json!([1]), json!(true)];
    let percents = [json!(0), json!(100.01), json!(-1), json!(1.005)];
    let kinds = [json!("attendance"), json!("ATTENDANCE")];
    let mut wrong = amounts.map(|value| goal("amount", value)).to_vec();
    wrong.extend(percents.map(|value| goal("percent", value)));
    wrong.extend(kinds.map(|value| goal("kind", value)));
    for reward in wrong {
        let mut walk = challenge("Walk", END);
        walk["rewards"] = json!([reward]);
        assert_problem(&admin.post(&of("activities"), &walk).await, 400, "invalid-request");
    }
    let walk = create(&admin, COMPANY, &challenge("Walk", END)).await;
    let path = of(&format!("activities/{}", text(&walk, "activityId")));
    let reward = json!({"version": 1, "name": "Points", "amount": 1});
    let misspelt = admin.put(&format!("{path}/rewards/attendance"), &reward).await;
    assert_eq!((misspelt.status, &misspelt.body["errors"][0]["pointer"]), (400, &json!("/path/kind")));
    for (rules, version, status) in [
        (json!({"progress": null}), 1, 400),
        (json!({"progress": 1}), 1, 400),
        (json!([{"progress": "most"}]), 1, 200),
        (json!({"progress": "sum"}), 2, 200),
    ] {
        let body = json!({"version": version, "type": "team", "rules": rules});
        let put = admin.put(&format!("{path}/groups"), &body).await;
        assert_eq!(put.status, status, "{rules}: {}", put.body);
    }
    let levels = async |include: &str| {
        let include = include.replace('#', "%23").replace(' ', "%20").replace(';', "%3B");
        admin.get(&format!("{path}?include={include}")).await
    };
    assert_eq!(levels("Program").await.body["name"], "Walk");
    let two = levels("Program#Groups , Program#Detail,Program#Groups").await;
    let has = ["groups", "detail", "rewards", "goal", "name"].map(|member| two.body.get(member).is_some());
    assert_eq!((two.status, has), (200, [true, true, false, false, false]), "{}", two.body);
    for bad in [",", "Program,", "program", "Program#", "Program#GroupsX", "Groups", "Program;Program#Detail"] {
        assert_problem(&levels(bad).await, 400, "invalid-request");
    }
}

#[tokio::test]
async fn a_calendar_year_is_a_plan_without_the_plans_at_its_ends() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    for (id, start, end) in [
        ("fiscal", "2020-07-01", "2021-06-30"),
        ("rest", "2021-07-01", "2021-12-31"),
        ("early", "2020-01-01", "2020-01-31"),
    ] {
        let plan = json!({"name": id, "startDate": start, "endDate": end});
        assert_eq!(admin.put(&of(&format!("plans/{id}")), &plan).await.status, 201);
    }
    for (id, start, end) in [
        ("2020", "2020-02-01T00:00:00Z", "2020-06-30T23:59:59Z"),
        ("2022", "2022-01-01T00:00:00Z", "2022-12-31T23:59:59Z"),
    ] {
        let year = json!({"planId": id, "name": id, "startDate": start, "endDate": end});
        assert_eq!(admin.get(&of(&format!("plans/{id}"))).await.body, year);
    }
    for none in ["2021", "unknown"] {
        assert_problem(&admin.get(&of(&format!("plans/{none}"))).await, 404, "not-found");
    }
}

/// Sends a request of an operator.
async fn ask(stack: &InProcess, method: &str, path: &str, body: &Value) -> Answer {
    let claims = json!({"sub": "operator", "scope": "wellness:operate"}).as_object().cloned();
    let (headers, body) = if body.is_null() {
        (None, String::new())
    } else {
        (Some(("content-type", "application/json")), body.to_string())
    };
    send_as(stack, claims, method, path, headers, body).await
}

/// The bucket whose name has this end.
fn bucket(stack: &InProcess, end: &str) -> String {
    stack.template().buckets.iter().find(|bucket| bucket.ends_with(end)).expect("a bucket").clone()
}

#[tokio::test(start_paused = true)]
async fn a_file_must_start_as_its_type_requires() {
    let stack = empty(NOW, &["wellness"]);
    let starts: [(&str, &[u8]); 7] = [
        ("application/pdf", b"%PDF-1.7\n"),
        ("image/jpeg", b"\xff\xd8\xff\xe0"),
        ("image/png", b"\x89PNG\r\n\x1a\n\0"),
        ("image/webp", b"RIFF\0\0\0\0WEBPVP8 "),
        ("video/mp4", b"\0\0\0\x18ftypmp42"),
        ("text/csv", "a,b\r\n\u{e4}".as_bytes()),
        // The last character is cut off.
        ("text/plain", b"hello\xc3"),
    ];
    let right = starts.map(|(kind, content)| (kind, content, "ready"));
    let wrong = starts.map(|(kind, _)| (kind, &b"\x7fELF\x02"[..], "rejected"));
    let others = [("text/plain", &b"a\xffb"[..], "rejected"), ("image/webp", b"RIFF", "rejected")];
    let cases: Vec<_> = right.into_iter().chain(wrong).chain(others).collect();
    let mut paths = Vec::new();
    for (number, (kind, content, _)) in cases.iter().enumerate() {
        // A company may not start any number of jobs.
        let files = of_company(&number.to_string(), "files");
        let made = ask(&stack, "POST", &files, &file_of("Guide", kind, content)).await;
        assert_eq!(made.status, 201, "{kind}: {}", made.body);
        let url = text(&made.body["upload"], "url").split('?').next().expect("a URL");
        let key = &url[url.find("uploads/").expect("a key")..];
        stack.put_object(&bucket(&stack, "-files"), key, content).expect("an object");
        paths.push(made.headers["location"].to_str().expect("a path").to_owned());
    }
    settle(&stack).await;
    for ((kind, content, status), path) in cases.iter().zip(&paths) {
        let file = ask(&stack, "GET", path, &Value::Null).await.body;
        assert_eq!(file["status"], *status, "{kind} {content:?}: {file}");
    }
}

/// Free seats follow the capacity at once. A limit without free seats stays: the job raises it, and
/// a lower capacity takes no seat away.
#[tokio::test(start_paused = true)]
async fn free_seats_follow_the_capacity() {
    const TABLE: &str = "local-Activities";
    let stack = empty(NOW, &["wellness"]);
    let max = TicketSort::MAX;
    let rows = [
        (2, Some(5), 5, Some(3), 3),
        (4, Some(5), 5, Some(3), 4),
        (6, Some(5), 5, Some(3), 5),
        (6, Some(5), 5, Some(7), 5),
        (2, Some(5), 5, Some(7), 7),
        (9, Some(5), 11, Some(4), 10),
        (9, Some(5), 11, None, max),
        (9, Some(5), 9, None, 9),
        (2, None, max, Some(3), 3),
        (4, None, max, Some(3), 4),
    ];
    for (row, (issued, old, limit, new, expected)) in rows.into_iter().enumerate() {
        let activities = of_company(&row.to_string(), "activities");
        let mut event = json!({"name": "Flu shots", "type": "event", "subType": "Health", "enrolment": "open",
            "startDate": "2020-01-01", "endDate": END});
        let key = |id: &str| json!({"PK": {"S": format!("ActivityId-{id}")}, "SK": {"S": "Tickets"}});
        let number = |number: u64| json!({"N": number.to_string()});
        if let Some(seats) = old {
            event["capacity"] = json!(seats);
        }
        let made = ask(&stack, "POST", &activities, &event).await;
        let id = text(&made.body, "activityId");
        let mut counter = key(id);
        for (name, value) in [("Issued", number(issued)), ("Limit", number(limit)), ("Round", number(0))] {
            counter[name] = value;
        }
        (counter["Type"], counter["IssuedAt"]) = (json!({"S": "Tickets"}), json!({"S": NOW}));
        (counter["Seated"], counter["Drawn"]) = (number(0), json!({"M": {}}));
        if let Some(seats) = old {
            counter["Capacity"] = number(seats);
        }
        stack.dynamodb("PutItem", &json!({"TableName": TABLE, "Item": counter})).expect("put");
        let patch = json!({"version": 1, "capacity": new});
        let changed = ask(&stack, "PATCH", &format!("{activities}/{id}"), &patch).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
        let get = json!({"TableName": TABLE, "Key": key(id), "ConsistentRead": true});
        let stored = stack.dynamodb("GetItem", &get).expect("the counter");
        assert_eq!(stored["Item"]["Limit"], number(expected), "{issued} {old:?} {limit} {new:?}");
    }
}

fn change(partition: &str, sort: &str) -> Value {
    json!({"dynamodb": {"Keys": {"PK": {"S": partition}, "SK": {"S": sort}}}})
}

/// The document that Lambda writes about these stream records.
fn records(records: &[&Value]) -> String {
    json!({"version": "1.0", "payload": json!({"Records": records}).to_string()}).to_string()
}

/// The document that Lambda writes about the event of an object.
fn object(key: &str) -> String {
    let record = json!({
        "eventSource": "aws:s3", "eventName": "ObjectCreated:Put",
        "s3": {"bucket": {"name": "b"}, "object": {"key": key, "size": 1, "eTag": "e", "sequencer": "1"}},
    });
    json!({"requestPayload": {"Records": [record]}}).to_string()
}

/// Stores the documents, starts an erasure and waits for its end. Compares each document with what
/// must be left of it, if anything.
async fn assert_erases(path: &str, documents: &[(String, Option<String>)]) {
    const FOLDER: &str = "aws/lambda/";
    let stack = empty(NOW, &["wellness"]);
    let bucket = bucket(&stack, "-failedchanges");
    let mut right = BTreeMap::new();
    for (number, (document, left)) in documents.iter().enumerate() {
        let key = format!("{FOLDER}mapping/{number:02}");
        stack.put_object(&bucket, &key, document.as_bytes()).expect("an object");
        right.extend(left.clone().map(|left| (key, left)));
    }
    let started = ask(&stack, "POST", path, &json!({})).await;
    assert_eq!(started.status, 202, "{}", started.body);
    settle(&stack).await;
    let ended = ask(&stack, "GET", path, &Value::Null).await.body;
    assert_eq!(ended["status"], "done", "{ended}");
    let found = stack.objects(&bucket, FOLDER).expect("objects").into_iter();
    let found: BTreeMap<_, _> = found.map(|(key, bytes)| (key, String::from_utf8(bytes).expect("text"))).collect();
    assert_eq!(found, right);
}

#[tokio::test(start_paused = true)]
async fn an_erasure_removes_only_the_records_of_its_owner_from_failed_events() {
    let (own, job) = (change("CompanyId-1#Employees#3", "UserId-u"), change("CompanyId-1", "Job#DepartureId-u"));
    let colleague = change("CompanyId-1#Employees#3", "UserId-v");
    let others = [change("CompanyId-11", "Job#DepartureId-u"), change("CompanyId-2#Employees#3", "UserId-u")];
    let mut registration = change("ActivityId-a", "Registration#UserId-u");
    registration["dynamodb"]["OldImage"] = json!({"CompanyId": {"S": "1"}});
    let mut activity = change("ActivityId-a", "Program");
    activity["dynamodb"]["NewImage"] = json!({"CompanyId": {"S": "1"}, "ChangedBy": {"M": {"sub": {"S": "u"}}}});
    let mut without_author = activity.clone();
    without_author["dynamodb"]["NewImage"] = json!({"CompanyId": {"S": "1"}});
    let mut of_others = activity.clone();
    of_others["dynamodb"]["NewImage"]["CompanyId"] = json!({"S": "2"});
    let kept = |document: String| (document.clone(), Some(document));
    let rest = records(&[&others[0], &others[1]]);
    let both = |user_left: Option<String>, upload_left: Option<String>| {
        let odd = ["not JSON", "{}", "[]", r#"{"payload": "no"}"#, r#"{"requestPayload": {"time": "t"}}"#];
        let mut documents = vec![
            (records(&[&own, &job]), None),
            kept(rest.clone()),
            (records(&[&own, &others[0], &job, &others[1]]), Some(rest.clone())),
            (records(&[&own, &colleague]), user_left),
            (object("uploads/1/files/f"), upload_left),
            kept(object("uploads/11/files/f")),
        ];
        documents.extend(odd.map(|document| kept(document.to_owned())));
        documents
    };
    let mut of_company = both(None, None);
    of_company.extend([(records(&[&registration, &activity]), None), kept(records(&[&of_others]))]);
    assert_erases(&of("erasure"), &of_company).await;
    let mut of_user = both(Some(records(&[&colleague])), Some(object("uploads/1/files/f")));
    let authored = records(&[&registration, &activity, &of_others]);
    of_user.push((authored, Some(records(&[&without_author, &of_others]))));
    assert_erases(&of("employees/u/erasure"), &of_user).await;
}
