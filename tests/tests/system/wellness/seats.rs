//! Tests of W21: sign-ups, the waiting list, and the job that gives seats away.

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, stream};
use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};
use system_tests::{
    Answer, Client, assert_problem, drained,
    faults::{Call, Fault, Moment, Process, Proxy, Twins},
    send, text, until,
    wellness::{
        admin, create, employee, of_company, put,
        references::{by_hand, staff, step_of, without_jobs},
        registration_of, stack, stored,
    },
};

type Item = HashMap<String, AttributeValue>;

const COMPANY: &str = "C";
const END: &str = "2099-12-31T23:59:59";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

fn event(capacity: u32) -> Value {
    json!({"name": "Flu shots", "type": "event", "subType": "Health", "startDate": "2020-01-01", "endDate": END,
        "capacity": capacity})
}

/// Puts employees of Sales directly. There are no activities yet.
async fn employ(stack: &Stack, users: &[&str]) {
    put(stack, &users.iter().map(|user| staff(COMPANY, user, "Sales")).collect::<Vec<_>>()).await;
    drained(&Client::operator(stack), "register-new-employee").await;
}

async fn join(client: &Client, user: &str, id: &str) -> Answer {
    send(client.request("PUT", &registration_of(COMPANY, user, id))).await
}

async fn leave(client: &Client, user: &str, id: &str) -> Answer {
    send(client.request("DELETE", &registration_of(COMPANY, user, id))).await
}

/// Reads the registrations of an activity by user.
async fn registrations(stack: &Stack, id: &str) -> BTreeMap<String, Item> {
    let items = stored(stack, None, &format!("ActivityId-{id}")).await.into_iter();
    let user = |item: &Item| item["SK"].as_s().ok()?.strip_prefix("Registration#UserId-").map(str::to_owned);
    items.filter_map(|item| Some((user(&item)?, item))).collect()
}

/// Returns the status of each registration: enrolled, waiting or withdrawn.
async fn statuses(stack: &Stack, id: &str) -> BTreeMap<String, String> {
    let status = |item: &Item| {
        item.get("Absence").map_or("enrolled".to_owned(), |absence| absence.as_s().expect("a text").clone())
    };
    registrations(stack, id).await.into_iter().map(|(user, item)| (user, status(&item))).collect()
}

fn with<'a>(statuses: &'a BTreeMap<String, String>, status: &str) -> BTreeSet<&'a str> {
    statuses.iter().filter(|(_, is)| *is == status).map(|(user, _)| user.as_str()).collect()
}

async fn seated(client: &Client, id: &str) -> Value {
    until(client, &of(&format!("jobs/SeatsId-{id}")), |answer| answer.body["status"] != "running").await.body
}

/// Two hundred employees join an event of a hundred places at once.
#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_sign_ups_at_once_fill_the_seats_and_the_waiting_list() {
    let stack = stack().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    let users: Vec<String> = (0..200).map(|number| format!("u-{number}")).collect();
    employ(&stack, &users.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let id = text(&create(&admin, COMPANY, &event(100)).await, "activityId").to_owned();
    let all = stream::iter(&users).map(async |user| (user, join(&operator, user, &id).await));
    // With more requests at once, a busy machine would answer some of them after their deadline.
    let answers: Vec<_> = all.buffer_unordered(50).collect().await;
    let enrolled = answers.iter().filter(|(_, answer)| answer.body["status"] == "enrolled");
    assert_eq!(enrolled.filter(|(_, answer)| answer.status == 201 && answer.body["place"].is_null()).count(), 100);
    let mut waiting: Vec<(u64, &String)> =
        answers.iter().filter_map(|(user, answer)| Some((answer.body["place"].as_u64()?, *user))).collect();
    waiting.sort_unstable();
    let places: Vec<u64> = waiting.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, (1..=100).collect::<Vec<_>>(), "nobody shares a place");
    let stored = registrations(&stack, &id).await;
    let order: Vec<_> = waiting.iter().map(|(_, user)| stored[*user]["Ticket"].as_n().expect("a number")).collect();
    let sign_ups: Vec<_> = (101..=200).map(|number: u64| number.to_string()).collect();
    assert_eq!(order, sign_ups.iter().collect::<Vec<_>>(), "the waiting list keeps the order of the sign-ups");
    drained(&operator, "continue-job").await;
    let before = statuses(&stack, &id).await;
    assert_eq!((with(&before, "enrolled").len(), with(&before, "waiting").len()), (100, 100));

    // Ten leave at once: the first ten of the waiting list move up.
    let leavers: Vec<&str> = with(&before, "enrolled").into_iter().take(10).collect();
    let left: Vec<Answer> =
        stream::iter(&leavers).map(|user| leave(&operator, user, &id)).buffer_unordered(10).collect().await;
    assert!(left.iter().all(|answer| answer.status == 204), "{left:?}");
    assert_eq!(seated(&admin, &id).await["status"], "done");
    drained(&operator, "continue-job").await;
    let after = statuses(&stack, &id).await;
    let mut right = with(&before, "enrolled");
    right.retain(|user| !leavers.contains(user));
    right.extend(waiting.iter().take(10).map(|(_, user)| user.as_str()));
    assert_eq!(with(&after, "enrolled"), right);
    assert_eq!((with(&after, "waiting").len(), with(&after, "withdrawn").len()), (90, 10));
    let next = join(&operator, waiting[10].1, &id).await;
    assert_eq!((next.status, &next.body["place"]), (200, &json!(1)), "the next one is now the first: {}", next.body);
    let again = join(&operator, leavers[0], &id).await;
    assert_eq!((again.status, &again.body["status"], &again.body["place"]), (201, &json!("waiting"), &json!(91)));
}

#[tokio::test(flavor = "multi_thread")]
async fn employees_join_what_is_open_to_them_and_administrators_put_anyone_in() {
    let stack = stack().start().await.expect("a stack");
    let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, "user"));
    let other = employee(&stack, COMPANY, "other");
    employ(&stack, &["user", "other"]).await;
    let made = async |change: Value| {
        let mut activity = event(5);
        activity.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
        text(&create(&admin, COMPANY, &activity).await, "activityId").to_owned()
    };
    let open = made(json!({})).await;
    let mine = registration_of(COMPANY, "user", &open);
    assert_problem(&join(&other, "user", &open).await, 403, "forbidden");
    assert_problem(&leave(&user, "user", &open).await, 404, "not-found");
    let joined = join(&user, "user", &open).await;
    assert_eq!((joined.status, &joined.body["status"]), (201, &json!("enrolled")), "{}", joined.body);
    assert_eq!(join(&user, "user", &open).await.status, 200);
    assert_eq!(user.patch(&mine, &json!({"progress": 10})).await.status, 200);
    for _ in 0..2 {
        assert_eq!(leave(&user, "user", &open).await.status, 204);
    }
    assert_problem(&user.patch(&mine, &json!({"progress": 20})).await, 404, "not-found");
    let list = user.get("/wellness/users/user/registrations?year=2099").await.body;
    assert_eq!(list, json!({"items": []}), "a withdrawn registration is not listed");
    let back = join(&user, "user", &open).await;
    assert_eq!((back.status, &back.body["progress"]), (201, &json!(10.0)), "the progress is kept");
    let list = user.get("/wellness/users/user/registrations?year=2099").await.body;
    assert_eq!(list["items"][0]["status"], "enrolled", "{list}");

    for (change, status, problem, of_admin) in [
        (json!({"enrolment": "closed"}), 409, "enrolment-closed", 201),
        (json!({"filters": {"departments": ["Legal"]}}), 409, "not-eligible", 201),
        (json!({"endDate": "2020-12-31"}), 409, "activity-not-open", 201),
        (json!({"status": "draft"}), 404, "not-found", 409),
        (json!({"status": "cancelled"}), 404, "not-found", 409),
    ] {
        let id = made(change.clone()).await;
        assert_problem(&join(&user, "user", &id).await, status, problem);
        assert_eq!(join(&admin, "user", &id).await.status, of_admin, "{change}");
        assert_problem(&join(&admin, "nobody", &id).await, 404, "not-found");
    }
    let ended = made(json!({"endDate": "2020-12-31"})).await;
    assert_eq!(join(&admin, "user", &ended).await.status, 201);
    assert_problem(&leave(&user, "user", &ended).await, 409, "activity-not-open");
    assert_eq!(leave(&admin, "user", &ended).await.status, 204);
    let mut walk = event(5);
    walk["type"] = "challenge".into();
    let answer = admin.post(&of("activities"), &walk).await;
    assert_eq!((answer.status, &answer.body["errors"][0]["pointer"]), (400, &json!("/body/capacity")));
}

/// Employees may leave a challenge, and the job does not enrol them again. Changed filters withdraw
/// employees who joined, but none whom an administrator put in.
#[tokio::test(flavor = "multi_thread")]
async fn automatic_enrolment_respects_those_who_left_and_those_who_were_put_in() {
    let stack = stack().start().await.expect("a stack");
    let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, "a"));
    let operator = Client::operator(&stack);
    employ(&stack, &["a", "b", "c"]).await;
    let mut walk = event(5);
    walk["type"] = "challenge".into();
    walk.as_object_mut().expect("an object").remove("capacity");
    let id = text(&create(&admin, COMPANY, &walk).await, "activityId").to_owned();
    let enrolment = of(&format!("jobs/EnrolmentId-{id}"));
    until(&admin, &enrolment, |answer| answer.body["status"] == "done").await;
    assert_eq!(leave(&user, "a", &id).await.status, 204);
    let path = of(&format!("activities/{id}"));
    let longer = admin.patch(&path, &json!({"version": 1, "endDate": "2098-12-31"})).await;
    assert_eq!(longer.body["enrolmentJobId"], format!("EnrolmentId-{id}"));
    until(&admin, &enrolment, |answer| answer.body["status"] == "done").await;
    let now = statuses(&stack, &id).await;
    assert_eq!((with(&now, "enrolled"), with(&now, "withdrawn")), (["b", "c"].into(), ["a"].into()));
    assert_eq!(join(&user, "a", &id).await.status, 201);

    let id = text(&create(&admin, COMPANY, &event(1)).await, "activityId").to_owned();
    for (client, name) in [(&user, "a"), (&admin, "b"), (&operator, "c")] {
        assert_eq!(join(client, name, &id).await.status, 201);
    }
    let path = of(&format!("activities/{id}"));
    let filters = json!({"version": 1, "filters": {"departments": ["Legal"]}});
    assert_eq!(admin.patch(&path, &filters).await.status, 200);
    until(&admin, &of(&format!("jobs/EnrolmentId-{id}")), |answer| answer.body["status"] == "done").await;
    assert_eq!(seated(&admin, &id).await["status"], "done");
    let now = statuses(&stack, &id).await;
    assert_eq!((with(&now, "enrolled"), with(&now, "waiting")), (["b"].into(), ["c"].into()), "{now:?}");
    let more = admin.patch(&path, &json!({"version": 2, "capacity": 2})).await;
    assert_eq!((more.status, &more.body["capacity"]), (200, &json!(2)));
    seated(&admin, &id).await;
    drained(&operator, "continue-job").await;
    assert_eq!(with(&statuses(&stack, &id).await, "enrolled"), ["b", "c"].into());
}

/// An employee who moves to a department that the event excludes gives the seat to the next one.
#[tokio::test(flavor = "multi_thread")]
async fn a_moved_employee_gives_the_seat_away() {
    let stack = stack().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    employ(&stack, &["a", "b"]).await;
    let mut of_sales = event(1);
    of_sales["filters"] = json!({"departments": ["Sales"]});
    let id = text(&create(&admin, COMPANY, &of_sales).await, "activityId").to_owned();
    for user in ["a", "b"] {
        assert_eq!(join(&employee(&stack, COMPANY, user), user, &id).await.status, 201);
    }
    let legal = json!({"role": "R", "department": "Legal"});
    assert_eq!(operator.put(&of("employees/a"), &legal).await.status, 200);
    drained(&operator, "register-new-employee").await;
    assert_eq!(seated(&admin, &id).await["status"], "done");
    assert_eq!(statuses(&stack, &id).await, [("b".to_owned(), "enrolled".to_owned())].into());
}

/// Returns the event of a user who signs up.
fn sign_up(user: &str, id: &str) -> Value {
    let mut request = system_tests::events::event("join-activity", "");
    request["pathParameters"] = json!({"userId": user, "activityId": id});
    let claims = &mut request["requestContext"]["authorizer"]["jwt"]["claims"];
    claims["sub"] = user.into();
    claims["company_id"] = COMPANY.into();
    request
}

/// An employee sends 100 equal sign-ups at once, for an activity with five seats. The others get
/// their seats at once, without the job.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_equal_sign_ups_take_one_seat() {
    let stack = without_jobs().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    let users = ["a", "b", "c", "d", "e"];
    employ(&stack, &users).await;
    let id = text(&create(&admin, COMPANY, &event(5)).await, "activityId").to_owned();
    let equal = (0..100).map(|_| join(&operator, "a", &id));
    let answers: Vec<Answer> = stream::iter(equal).buffer_unordered(50).collect().await;
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 201)), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    for user in &users[1..] {
        let joined = join(&operator, user, &id).await;
        assert_eq!((joined.status, &joined.body["status"]), (201, &json!("enrolled")), "{user}: {}", joined.body);
    }
    let stored = registrations(&stack, &id).await;
    let tickets: BTreeSet<&str> =
        stored.values().map(|item| item["Ticket"].as_n().expect("a number").as_str()).collect();
    assert_eq!(tickets, ["1", "2", "3", "4", "5"].into());
}

/// An employee leaves and comes back many times. The tickets do not pile up, and the seat is free.
#[tokio::test(flavor = "multi_thread")]
async fn leaving_and_coming_back_leaves_no_tickets_behind() {
    let stack = without_jobs().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    employ(&stack, &["a", "b"]).await;
    let id = text(&create(&admin, COMPANY, &event(1)).await, "activityId").to_owned();
    for _ in 0..50 {
        assert_eq!(join(&operator, "a", &id).await.status, 201);
        assert_eq!(leave(&operator, "a", &id).await.status, 204);
        operator.invoke("continue-job", &step_of(COMPANY, &format!("SeatsId-{id}"))).await;
    }
    assert_eq!(join(&operator, "b", &id).await.body["status"], "enrolled");
    let items = stored(&stack, None, &format!("ActivityId-{id}")).await;
    let left: Vec<_> =
        items.iter().filter(|item| item["SK"].as_s().is_ok_and(|sort| sort.starts_with("Ticket#"))).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// A sign-up is killed after it has taken the only ticket with a seat. The next sign-up gets a
/// place on the waiting list, and starts the job that looks for lost tickets. A third one wakes it.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_up_starts_the_job_if_a_ticket_was_lost() {
    let twins = Twins::start(stack).await;
    let (stack, operator) = (&twins.healthy, Client::operator(&twins.healthy));
    let admin = admin(stack, COMPANY);
    employ(stack, &["u", "v", "w"]).await;
    let id = text(&create(&admin, COMPANY, &event(2)).await, "activityId").to_owned();
    // Nobody has signed up, so there is no counter yet.
    let fewer = admin.patch(&of(&format!("activities/{id}")), &json!({"version": 1, "capacity": 1})).await;
    assert_eq!((fewer.status, &fewer.body["capacity"]), (200, &json!(1)), "{}", fewer.body);
    assert_eq!(seated(&admin, &id).await["status"], "done");
    let process = twins.process("join-activity", &(wellness::patterns::join_activity::PATTERN.function)());
    // The transaction that puts the registration and its ticket.
    let puts_ticket = |call: &Call| call.body["TransactItems"][1]["Put"]["Item"]["Type"]["S"] == "Ticket";
    twins.proxy.rule(move |call| if puts_ticket(call) { Fault::Death(Moment::Before) } else { Fault::None });
    assert!(process.run(&sign_up("u", &id), Duration::from_secs(30)).await.is_none());
    assert_eq!(seated(&admin, &id).await["status"], "done");
    let waits = join(&operator, "v", &id).await;
    assert_eq!((waits.status, &waits.body["status"], &waits.body["place"]), (201, &json!("waiting"), &json!(1)));
    assert_eq!(admin.get(&of(&format!("jobs/SeatsId-{id}"))).await.body["status"], "running");
    let waits = join(&operator, "w", &id).await;
    assert_eq!((waits.status, &waits.body["place"]), (201, &json!(2)), "{}", waits.body);
    let again = join(&operator, "u", &id).await;
    assert_eq!((again.status, &again.body["status"]), (201, &json!("enrolled")), "the ticket is kept: {}", again.body);
}

/// A sign-up takes a ticket before the write of a lower capacity, and is killed. The new limit is
/// not below that ticket, so the repeated sign-up gets the seat.
#[tokio::test(flavor = "multi_thread")]
async fn a_lower_capacity_keeps_the_seat_of_a_sign_up_in_progress() {
    let (stack, proxy) = by_hand().await;
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    employ(&stack, &["a", "b"]).await;
    let id = text(&create(&admin, COMPANY, &event(3)).await, "activityId").to_owned();
    assert_eq!(join(&operator, "a", &id).await.status, 201);
    let function = (wellness::patterns::update_activity::PATTERN.function)();
    let process = Process::start(&stack, &proxy, "update-activity", &function);
    let mut fewer = system_tests::events::event("update-activity", "");
    fewer["pathParameters"] = json!({"companyId": COMPANY, "activityId": id});
    fewer["requestContext"]["authorizer"]["jwt"]["claims"]["company_id"] = COMPANY.into();
    fewer["body"] = json!({"version": 1, "capacity": 1}).to_string().into();
    let is_transaction = |call: &Call| call.action == "TransactWriteItems";
    proxy.rule(move |call| if is_transaction(call) { Fault::Held } else { Fault::None });
    let signs_up = async {
        proxy.held(1).await;
        let deadly = Proxy::start(stack.dynamo_url()).await;
        deadly.rule(move |call| if is_transaction(call) { Fault::Death(Moment::Before) } else { Fault::None });
        let process =
            Process::start(&stack, &deadly, "join-activity", &(wellness::patterns::join_activity::PATTERN.function)());
        assert!(process.run(&sign_up("b", &id), Duration::from_secs(30)).await.is_none());
        proxy.release();
    };
    let (invocation, ()) = tokio::join!(process.run(&fewer, Duration::from_secs(30)), signs_up);
    assert_eq!(invocation.expect("alive").answer.expect("an answer")["statusCode"], 200);
    assert_eq!(join(&operator, "b", &id).await.body["status"], "enrolled");
}

/// Sets an attribute of the activity's items with this sort key to a value of another type.
async fn poison(stack: &Stack, id: &str, sort: &str, attribute: &str) {
    let update = stack.client().expect("a client").update_item();
    let update = update.table_name(stack.table("Activities").expect("a table"));
    let update = update.key("PK", AttributeValue::S(format!("ActivityId-{id}")));
    let update = update.key("SK", AttributeValue::S(sort.to_owned())).update_expression("SET #a = :a");
    let update = update.expression_attribute_names("#a", attribute);
    update.expression_attribute_values(":a", AttributeValue::Bool(true)).send().await.expect("written");
}

/// The holder of an unreadable ticket keeps the seat. An unreadable counter fails the job.
#[tokio::test(flavor = "multi_thread")]
async fn the_job_passes_over_unreadable_tickets_and_fails_over_an_unreadable_counter() {
    let stack = without_jobs().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    let users = ["a", "b", "c", "d"];
    employ(&stack, &users).await;
    let id = text(&create(&admin, COMPANY, &event(2)).await, "activityId").to_owned();
    for user in users {
        assert_eq!(join(&operator, user, &id).await.status, 201);
    }
    poison(&stack, &id, "Ticket#0000000001", "At").await;
    assert_eq!(leave(&operator, "b", &id).await.status, 204);
    let step = step_of(COMPANY, &format!("SeatsId-{id}"));
    operator.invoke("continue-job", &step).await;
    let job = seated(&admin, &id).await;
    assert_eq!((&job["status"], &job["skipped"]), (&json!("done"), &json!(1)), "{job}");
    let now = statuses(&stack, &id).await;
    assert_eq!((with(&now, "enrolled"), with(&now, "waiting")), (["a", "c"].into(), ["d"].into()));

    poison(&stack, &id, "Tickets", "Limit").await;
    assert_eq!(leave(&operator, "c", &id).await.status, 204);
    operator.invoke("continue-job", &step).await;
    let job = seated(&admin, &id).await;
    assert_eq!((&job["status"], job["reason"].is_string()), (&json!("failed"), true), "{job}");
    assert_eq!(with(&statuses(&stack, &id).await, "waiting"), ["d"].into());
}

/// After the sign-up has put its registration, a job gives the employee a seat, or the employee
/// leaves. Then the activity excludes the employee.
#[tokio::test(flavor = "multi_thread")]
async fn an_excluded_sign_up_ends_with_its_seat_and_is_not_repeated() {
    let (stack, proxy) = by_hand().await;
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    employ(&stack, &["s", "u"]).await;
    let signs_up =
        Process::start(&stack, &proxy, "join-activity", &(wellness::patterns::join_activity::PATTERN.function)());
    for (who, status, left) in [("s", 409, None), ("u", 201, Some("withdrawn"))] {
        let mut activity = event(1);
        activity["filters"] = json!({"departments": ["Sales"]});
        let id = text(&create(&admin, COMPANY, &activity).await, "activityId").to_owned();
        assert_eq!(join(&operator, "s", &id).await.status, 201);
        let (mut is_put, mut is_held) = (false, false);
        proxy.rule(move |call| {
            // The activity, and not one of the two calls that run beside its read.
            let holds = is_put && !is_held && call.action == "GetItem" && call.body["Key"]["SK"]["S"] == "Program";
            is_put |= call.body["TransactItems"][1]["Put"]["Item"]["Type"]["S"] == "Ticket";
            is_held |= holds;
            if holds { Fault::Held } else { Fault::None }
        });
        let changes = async {
            proxy.held(1).await;
            assert_eq!(leave(&operator, who, &id).await.status, 204);
            operator.invoke("continue-job", &step_of(COMPANY, &format!("SeatsId-{id}"))).await;
            let legal = json!({"version": 1, "filters": {"departments": ["Legal"]}});
            assert_eq!(admin.patch(&of(&format!("activities/{id}")), &legal).await.status, 200);
            proxy.release();
        };
        let event = sign_up("u", &id);
        let (invocation, ()) = tokio::join!(signs_up.run(&event, Duration::from_secs(30)), changes);
        let answer = invocation.expect("alive").answer.expect("an answer");
        assert_eq!(answer["statusCode"], status, "{who}: {answer}");
        assert_eq!(statuses(&stack, &id).await.get("u").map(String::as_str), left, "{who}");
        proxy.heal();
    }
}
