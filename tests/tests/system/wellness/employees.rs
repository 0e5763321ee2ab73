//! Tests of W10 (put-employee) and W11 (register-new-employee).
//!
//! Employees must be registered for exactly the challenges that they are eligible for, even if the
//! stream repeats, reorders or splits its records, or the function is killed.

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, future::join_all, stream};
use jiff::Timestamp;
use keys::{
    TimestampSeconds,
    wellness::{
        ActivityEndDateSort, ActivityPartition, ActivityType, EmployeeSort, EmployeesPartition, EndDateSort,
        ListPartition, PlanTime, ProgramPartition, ProgramSort, Status,
    },
};
use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};
use system_tests::{
    Answer, Client, drained, dynamo,
    faults::{Call, Fault, Moment, Process, Proxy},
    parsed,
    units::{self, consumed},
    until,
    wellness::{admin, declared, employee_key, of_company, registration_of, stack},
};
use table::{
    BatchWrite, Item, JsonText, Units,
    cost::{Cost, read, read_eventually, write},
};
use wellness::{Activity, Case, Employee, Filters, LastChange, Registration};

const ROLES: [&str; 3] = ["EmployeeOnPlan", "Spouse", "Retiree"];
const DEPARTMENTS: [&str; 6] = ["Sales", "Finance", "Legal", "Research", "Plant 1", "Büro"];
const FUNCTION: &str = "register-new-employee";
const ENOUGH: Duration = Duration::from_secs(30);

/// The attributes of an activity that determine which employees are eligible.
#[derive(Debug, Clone)]
struct Offer {
    company: String,
    id: String,
    kind: ActivityType,
    status: Status,
    end: PlanTime,
    roles: Vec<&'static str>,
    departments: Vec<&'static str>,
}

/// Returns an active challenge of company 1 for all employees.
fn offer(id: &str, end: &str) -> Offer {
    Offer {
        company: "1".to_owned(),
        id: id.to_owned(),
        kind: ActivityType::Challenge,
        status: Status::Active,
        end: parsed(end),
        roles: Vec::new(),
        departments: Vec::new(),
    }
}

impl Offer {
    fn activity(&self) -> Activity {
        let (company, end) = (parsed(&self.company), EndDateSort(self.end));
        Activity {
            partition: ActivityPartition(parsed(&self.id)),
            sort: ProgramSort::Program,
            program: ProgramPartition(parsed(&self.company)),
            end,
            list: Some(ListPartition(parsed(&self.company))),
            list_end: Some(end),
            company,
            name: parsed("Walk 5000"),
            activity_type: self.kind,
            sub_type: parsed("Fitness"),
            status: self.status,
            start_date: parsed("2020-01-01"),
            section_id: None,
            filters: Filters {
                roles: self.roles.iter().map(|role| parsed(role)).collect(),
                departments: self.departments.iter().map(|department| parsed(department)).collect(),
            },
            data: None,
            capacity: None,
            enrolment: None,
            template_id: None,
            version: 1,
            created_at: parsed("2020-01-01T00:00:00Z"),
        }
    }

    /// Whether an employee is eligible at the given time. This does not use the code under test.
    fn is_for(&self, who: &Placed, at: &str) -> bool {
        let end = self.end.to_string();
        let holds = |list: &[&str], one: &str| list.is_empty() || list.contains(&one);
        self.company == who.company
            && self.kind == ActivityType::Challenge
            && self.status == Status::Active
            && match end.strip_suffix("T00:00:00") {
                Some(day) => *day >= at[..10],
                None => end[..19] >= at[..19],
            }
            && holds(&self.roles, who.role)
            && holds(&self.departments, who.department)
    }
}

#[derive(Debug, Clone)]
struct Placed {
    company: String,
    user: String,
    role: &'static str,
    department: &'static str,
}

/// Returns an employee of company 1.
fn placed(user: &str, role: &'static str, department: &'static str) -> Placed {
    Placed { company: "1".to_owned(), user: user.to_owned(), role, department }
}

impl Placed {
    fn path(&self) -> String {
        of_company(&self.company, &format!("employees/{}", self.user))
    }

    fn body(&self) -> Value {
        json!({"role": self.role, "department": self.department})
    }

    async fn put(&self, client: &Client) -> Answer {
        client.put(&self.path(), &self.body()).await
    }

    fn item(&self) -> Employee {
        Employee {
            partition: EmployeesPartition::of(parsed(&self.company), &parsed(&self.user)),
            sort: EmployeeSort(parsed(&self.user)),
            name: None,
            role: parsed(self.role),
            department: parsed(self.department),
            last_change: LastChange::Placement,
            version: 1,
        }
    }

    /// Returns the stream record of a change to this employee.
    fn change(&self, number: usize, at: &str) -> Value {
        let key = employee_key(&self.company, &self.user);
        let keys = json!({"PK": {"S": key.partition()}, "SK": {"S": key.sort()}});
        json!({
            "eventID": format!("{number:032x}"),
            "eventName": "INSERT",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "dynamodb": {
                "ApproximateCreationDateTime": at.parse::<Timestamp>().expect("a time").as_second(),
                "Keys": keys,
                "NewImage": {"LastChange": {"S": "PLACEMENT"}},
                "SequenceNumber": sequence(number),
                "SizeBytes": 200,
                "StreamViewType": "NEW_IMAGE",
            },
            "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/local-Activities/stream/2026-01-01T00:00:00.000",
        })
    }
}

fn sequence(number: usize) -> String {
    format!("{:021}", 100_000 + number)
}

fn batch(changes: &[Value]) -> Value {
    json!({"Records": changes})
}

fn nothing_failed() -> Value {
    json!({"batchItemFailures": []})
}

fn failed_from(number: usize) -> Value {
    json!({"batchItemFailures": [{"itemIdentifier": sequence(number)}]})
}

/// Puts items directly into the table.
async fn seed<T: Item>(stack: &Stack, items: impl IntoIterator<Item = T>) {
    let dynamo = dynamo(stack);
    let table = dynamo.table(stack.table("Activities").expect("a table"));
    let mut batch = BatchWrite::default();
    for item in items {
        batch.put(&table, &item).expect("writable");
    }
    dynamo.batch_write(batch).await.expect("written");
}

/// Reads all items of a type.
async fn stored<T: Item>(stack: &Stack) -> Vec<T> {
    let client = stack.client().expect("a client");
    let scan = client.scan().table_name(stack.table("Activities").expect("a table")).consistent_read(true);
    let mut pages = scan.into_paginator().items().send();
    let mut items = Vec::new();
    while let Some(item) = pages.next().await {
        let item: HashMap<String, AttributeValue> = item.expect("an item");
        if item["Type"].as_s().is_ok_and(|kind| kind == T::TYPE) {
            items.push(serde_dynamo::from_item(item).expect("readable"));
        }
    }
    items
}

/// The user, the activity and the end date of each registration.
type Registered = BTreeSet<(String, String, String)>;

fn triple(registration: &Registration) -> (String, String, String) {
    let (user, activity) = (registration.sort.0.to_string(), registration.partition.0.to_string());
    (user, activity, registration.end.0.to_string())
}

async fn registered(stack: &Stack) -> Registered {
    stored::<Registration>(stack).await.iter().map(triple).collect()
}

/// Returns the expected registrations.
fn eligible<'a>(offers: &[Offer], who: impl IntoIterator<Item = (&'a Placed, &'a str)>) -> Registered {
    let mut eligible = Registered::new();
    for (who, at) in who {
        let offers = offers.iter().filter(|offer| offer.is_for(who, at));
        eligible.extend(offers.map(|offer| (who.user.clone(), offer.id.clone(), offer.end.to_string())));
    }
    eligible
}

fn now() -> String {
    TimestampSeconds::containing(Timestamp::now()).expect("a time").to_string()
}

/// Returns activities of a company, with all types and statuses and with different end dates.
fn offers(rng: &mut fastrand::Rng, company: &str, count: usize) -> Vec<Offer> {
    let year = &now()[..4];
    let ends = [
        format!("{year}-12-31T23:59:59"),
        format!("{year}-12-31T00:00:00"),
        format!("{year}-12-31T12:30:00"),
        "2020-12-31T00:00:00".to_owned(),
        format!("{}-01-01T00:00:00", year.parse::<u16>().expect("a year") + 1),
    ];
    let mut some = |list: &[&'static str]| -> Vec<&'static str> {
        let count = [0, 1, 1, 2, list.len()][rng.usize(..5)];
        rng.choose_multiple(list.iter().copied(), count)
    };
    let lists: Vec<_> = (0..count).map(|_| (some(&ROLES), some(&DEPARTMENTS))).collect();
    let offer = |(number, (roles, departments)): (usize, (Vec<_>, Vec<_>))| Offer {
        company: company.to_owned(),
        id: format!("{company}-{number}"),
        kind: if number % 4 == 0 { ActivityType::Event } else { ActivityType::Challenge },
        status: Status::ALL[[0, 0, 0, 1, 2, 2][number / 4 % 6]],
        end: parsed(&ends[[0, 1, 2, 2, 1, 3, 4][number % 7]]),
        roles,
        departments,
    };
    lists.into_iter().enumerate().map(offer).collect()
}

fn employees(rng: &mut fastrand::Rng, company: &str, count: usize) -> Vec<Placed> {
    let one = |number| Placed {
        company: company.to_owned(),
        user: format!("{company}-user-{number}"),
        role: ROLES[rng.usize(..ROLES.len())],
        department: DEPARTMENTS[rng.usize(..DEPARTMENTS.len())],
    };
    (0..count).map(one).collect()
}

/// Returns batches of random sizes with each change twice, in random order. In addition, the stream
/// of the table delivers each change once.
fn deliveries(rng: &mut fastrand::Rng, who: &[Placed], at: &str) -> Vec<Value> {
    let changes = who.iter().enumerate().map(|(number, who)| who.change(number, at));
    let mut changes: Vec<Value> = changes.flat_map(|change| vec![change; 2]).collect();
    rng.shuffle(&mut changes);
    let mut batches = Vec::new();
    while !changes.is_empty() {
        let size = rng.usize(1..=100).min(changes.len());
        batches.push(batch(&changes.split_off(changes.len() - size)));
    }
    batches
}

/// Returns the event source mapping of the function from the response of `/_local/streams`.
fn mapping(streams: &Value) -> &Value {
    let mappings = streams["mappings"].as_array().expect("mappings");
    mappings.iter().find(|mapping| mapping["function"] == FUNCTION).expect("the mapping")
}

async fn counts(operator: &Client) -> Value {
    mapping(&operator.get("/_local/streams").await.body).clone()
}

/// Puts `count` employees of one company and `count / 10` employees of a second company
/// concurrently. Both companies have similar activities.
async fn put_concurrently(count: usize) {
    let seed_of_test = fastrand::u64(..);
    let rng = &mut fastrand::Rng::with_seed(seed_of_test);
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let offers = [offers(rng, "1", 100), offers(rng, "2", 100)].concat();
    seed(&stack, offers.iter().map(Offer::activity)).await;
    let who = [employees(rng, "1", count), employees(rng, "2", count / 10)].concat();
    let at = now();
    let batches = deliveries(rng, &who, &at);
    let puts = stream::iter(&who).for_each_concurrent(32, async |who| {
        let answer = who.put(&operator).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    });
    // Some changes are delivered before their employee exists. The function must accept these
    // changes.
    let delivered = stream::iter(&batches).for_each_concurrent(4, async |batch| {
        let answer = operator.invoke(FUNCTION, batch).await;
        assert_eq!(answer.body, nothing_failed());
    });
    futures::join!(puts, delivered);
    drained(&operator, FUNCTION).await;
    let right = eligible(&offers, who.iter().map(|who| (who, at.as_str())));
    let each = right.len() / who.len();
    assert!((5..=20).contains(&each), "about ten registrations per employee: {each}");
    let registered = registered(&stack).await;
    let (missing, more) = (right.difference(&registered).count(), registered.difference(&right).count());
    assert_eq!(
        (missing, more),
        (0, 0),
        "missing and surplus registrations, {} are expected, seed {seed_of_test}",
        right.len()
    );
    let counts = counts(&operator).await;
    assert_eq!((&counts["delivered"], &counts["givenUp"]), (&json!(who.len()), &json!(0)), "{counts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_new_employees_are_registered_for_exactly_the_eligible_challenges() {
    put_concurrently(300).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn five_thousand_concurrent_new_employees_get_their_registrations() {
    put_concurrently(5_000).await;
}

/// A transferred employee leaves the challenges of the old department, except for those with
/// progress.
#[tokio::test]
async fn a_new_department_replaces_registrations_without_progress() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let end = format!("{}-12-31T23:59:59", &now()[..4]);
    let of = |id: &str, department| Offer { departments: vec![department], ..offer(id, &end) };
    let offers = [offer("all", &end), of("sales", "Sales"), of("legal", "Legal"), of("finance", "Finance")];
    seed(&stack, offers.iter().map(Offer::activity)).await;
    let admin = admin(&stack, "1");
    let departments = ["Sales", "Legal", "Sales", "Finance", "Legal"];
    let steps = departments.map(|department| placed("U", ROLES[0], department));
    for (number, step) in steps.iter().enumerate() {
        let answer = step.put(&admin).await;
        assert_eq!(answer.status, if number == 0 { 201 } else { 200 }, "{}", answer.body);
        drained(&operator, FUNCTION).await;
        let mut right = eligible(&offers, [(step, now().as_str())]);
        if number > 2 {
            right.extend(eligible(&offers, [(&steps[2], now().as_str())]));
        }
        assert_eq!(registered(&stack).await, right, "{step:?}");
        if number == 2 {
            let path = registration_of("1", "U", "sales");
            assert_eq!(operator.patch(&path, &json!({"progress": 1})).await.status, 200);
        }
    }
}

#[tokio::test]
async fn only_new_or_transferred_employees_reach_the_function() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let path = of_company("1", "employees/U");
    let end = format!("{}-12-31T23:59:59", &now()[..4]);
    let puts = [
        (json!({"role": "EmployeeOnPlan", "department": "Sales"}), 1, "new"),
        (json!({"role": "EmployeeOnPlan", "department": "Sales"}), 1, "no change"),
        (json!({"role": "EmployeeOnPlan", "department": "Sales", "name": "Ann"}), 1, "a new name"),
        (json!({"role": "EmployeeOnPlan", "department": "Sales", "name": "Ann Smith"}), 1, "another name"),
        (json!({"role": "Spouse", "department": "Sales", "name": "Ann Smith"}), 2, "another role"),
        (json!({"role": "Spouse", "department": "Legal"}), 3, "another department"),
        (json!({"role": "Spouse", "department": "Legal"}), 3, "no change"),
    ];
    for (number, (body, delivered, what)) in puts.iter().enumerate() {
        let answer = operator.put(&path, body).await;
        assert!(matches!(answer.status, 200 | 201), "{}", answer.body);
        drained(&operator, FUNCTION).await;
        // Records of activities and registrations must not reach the function.
        seed(&stack, [offer(&format!("A-{number}"), &end).activity()]).await;
        drained(&operator, FUNCTION).await;
        let counts = counts(&operator).await;
        assert_eq!(counts["delivered"], json!(delivered), "{what}: {counts}");
    }
    let registrations = registered(&stack).await.len();
    assert_eq!(registrations, 5, "one for each activity that was put before the last transfer");
    // The filter removes the records of the activities, the registrations and the two changes of
    // the name.
    let filtered = json!(puts.len() + registrations + 2);
    let all = |answer: &Answer| mapping(&answer.body)["filtered"] == filtered;
    until(&operator, "/_local/streams", all).await;
}

/// A stack with employees and activities, and a proxy between the function and DynamoDB. Nobody is
/// registered yet, because the stream delivered the employees before the activities existed.
struct Scene {
    stack: Stack,
    proxy: Proxy,
}

impl Scene {
    async fn start(who: &[Placed], offers: &[Offer]) -> Self {
        let stack = stack().start().await.expect("a stack");
        seed(&stack, who.iter().map(Placed::item)).await;
        drained(&Client::operator(&stack), FUNCTION).await;
        seed(&stack, offers.iter().map(Offer::activity)).await;
        let proxy = Proxy::start(stack.dynamo_url()).await;
        Self { stack, proxy }
    }

    /// Runs the function in a separate process. Returns `None` if the function died.
    async fn run(&self, changes: &[Value], time: Duration) -> Option<Value> {
        let process =
            Process::start(&self.stack, &self.proxy, FUNCTION, &wellness::patterns::register_new_employee::function());
        let invocation = process.run(&batch(changes), time).await?;
        Some(invocation.answer.expect("an answer"))
    }

    async fn deliver(&self, changes: &[Value]) -> Value {
        self.run(changes, ENOUGH).await.expect("alive")
    }

    /// Changes the end date of an activity directly in the table, but not in its registrations.
    async fn move_end(&self, offer: &Offer, end: &str) {
        let (dynamo, end) = (dynamo(&self.stack), EndDateSort(parsed(end)));
        let table = dynamo.table(self.stack.table("Activities").expect("a table"));
        let update =
            table.update(Activity::key_of(&parsed(&offer.id))).set(Activity::END, &end).set(Activity::LIST_END, &end);
        dynamo.write(update).await.expect("written");
    }

    /// Updates the end date of an activity's registrations, as the job does.
    async fn follow(&self, offer: &Offer, end: &str) {
        let (dynamo, end) = (dynamo(&self.stack), ActivityEndDateSort(parsed(end)));
        let table = dynamo.table(self.stack.table("Activities").expect("a table"));
        for registration in stored::<Registration>(&self.stack).await {
            if registration.partition.0.as_str() == offer.id {
                let key = Registration::key_of(&registration.partition.0, &registration.sort.0);
                dynamo.write(table.update(key).set(Registration::END, &end)).await.expect("written");
            }
        }
    }
}

/// Returns a registration with an outdated end date.
fn stale(offer: &Offer, who: &Placed, end: &str) -> Registration {
    let (company, activity, user) = (parsed(&who.company), parsed(&offer.id), parsed(&who.user));
    Registration::new(company, activity, parsed(end), user, parsed("2030-01-01T00:00:00Z"))
}

fn some(count: usize) -> Vec<Placed> {
    (0..count).map(|number| placed(&format!("U-{number}"), ROLES[0], "Sales")).collect()
}

fn changes(who: &[Placed], at: &str) -> Vec<Value> {
    who.iter().enumerate().map(|(number, who)| who.change(number, at)).collect()
}

const AT: &str = "2030-06-15T12:00:00Z";

#[tokio::test]
async fn eligibility_uses_the_time_of_the_change_and_current_employee_data() {
    let company_2 = |id| Offer { company: "2".to_owned(), ..offer(id, "2030-12-31") };
    let offers = [
        offer("ends-later", "2030-12-31T23:59:59"),
        offer("ends-this-second", "2030-06-15T12:00:00"),
        offer("ended-a-second-ago", "2030-06-15T11:59:59"),
        offer("ends-today", "2030-06-15"),
        offer("ended-yesterday", "2030-06-14"),
        offer("ends-in-the-previous-year", "2029-12-31T23:59:59"),
        offer("ends-in-the-next-year", "2031-01-01T00:00:00"),
        Offer { kind: ActivityType::Event, ..offer("an-event", "2030-12-31") },
        Offer { status: Status::Draft, ..offer("a-draft", "2030-12-31") },
        Offer { status: Status::Cancelled, ..offer("cancelled", "2030-12-31") },
        Offer { roles: vec![ROLES[0]], ..offer("the-role", "2030-12-31") },
        Offer { roles: vec![ROLES[1]], ..offer("another-role", "2030-12-31") },
        Offer { departments: vec!["Sales", "Legal"], ..offer("two-departments", "2030-12-31") },
        Offer { departments: vec!["sales"], ..offer("a-similar-department", "2030-12-31") },
        Offer {
            roles: vec![ROLES[0]],
            departments: vec!["Legal"],
            ..offer("the-role-and-another-department", "2030-12-31")
        },
        company_2("another-company's"),
    ];
    let who = [placed("U-0", ROLES[0], "Sales")];
    let scene = Scene::start(&who, &offers).await;
    assert_eq!(scene.deliver(&changes(&who, AT)).await, nothing_failed());
    let names = |registered: &Registered| registered.iter().map(|(_, id, _)| id.clone()).collect::<BTreeSet<_>>();
    let right =
        ["ends-later", "ends-this-second", "ends-today", "ends-in-the-next-year", "the-role", "two-departments"];
    let first = registered(&scene.stack).await;
    assert_eq!(names(&first), right.map(str::to_owned).into());
    assert_eq!(first, eligible(&offers, [(&who[0], AT)]), "the expected registrations match the names");
    let registration = stored::<Registration>(&scene.stack).await.remove(0);
    let activity = offers.iter().find(|offer| offer.id == registration.partition.0.as_str()).expect("an offer");
    assert_eq!(
        registration,
        Registration { registered_at: parsed(AT), ..stale(activity, &who[0], &activity.end.to_string()) }
    );

    // A later change adds only activities that had already ended at the earlier one: none.
    let new_year = [who[0].change(1, "2030-12-31T23:59:59Z"), who[0].change(2, "2031-01-01T00:00:00Z")];
    assert_eq!(scene.deliver(&new_year[..1]).await, nothing_failed());
    assert_eq!(scene.deliver(&new_year).await, nothing_failed());
    assert_eq!(registered(&scene.stack).await, first);
    let both = first;

    // Eligibility depends on the employee's current role and department, and not on those at the
    // time of the change. A deleted employee gets no registrations.
    // The stream does not deliver this change by itself.
    let moved = Employee { last_change: LastChange::Other, ..placed("U-0", ROLES[1], "Legal").item() };
    seed(&scene.stack, [moved]).await;
    let gone = placed("U-9", ROLES[0], "Sales");
    assert_eq!(scene.deliver(&changes(&[who[0].clone(), gone], AT)).await, nothing_failed());
    let now = eligible(&offers, [(&placed("U-0", ROLES[1], "Legal"), AT)]);
    assert_eq!(
        names(&now),
        ["ends-later", "ends-this-second", "ends-today", "ends-in-the-next-year", "another-role", "two-departments"]
            .map(str::to_owned)
            .into()
    );
    assert_ne!(both, now);
    assert_eq!(registered(&scene.stack).await, now, "the employee leaves what is for another role");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_items_and_unreadable_changes_are_passed_over() {
    let offers = [offer("all", "2030-12-31")];
    let who = some(2);
    let scene = Scene::start(&who, &offers).await;
    let good = changes(&who, AT);
    let broken = |pointer: &str, value: Value| {
        let mut change = who[0].change(7, AT);
        *change.pointer_mut(pointer).expect("a member") = value;
        change
    };
    let passed_over = |sort: &str| broken("/dynamodb/Keys/SK/S", sort.into());
    for other in ["Program", "Registration#UserId-U-0", "Job#VenueId-1", "Employee", "userId-U-0", ""] {
        assert_eq!(scene.deliver(&[passed_over(other)]).await, nothing_failed(), "{other:?}");
    }
    assert_eq!(registered(&scene.stack).await, Registered::new());
    let unreadable = [
        broken("/dynamodb/Keys/PK/S", "ActivityId-1".into()),
        broken("/dynamodb/Keys/PK/S", "CompanyId-1".into()),
        broken("/dynamodb/Keys/PK/S", "CompanyId-1#Employees#10".into()),
        broken("/dynamodb/Keys/SK/S", "UserId-".into()),
        broken("/dynamodb/Keys/SK/S", "UserId-U#0".into()),
        broken("/dynamodb/Keys/PK", Value::Null),
        broken("/dynamodb/Keys/SK", json!({"N": "1"})),
        broken("/dynamodb/Keys", Value::Null),
        broken("/dynamodb/ApproximateCreationDateTime", Value::Null),
        broken("/dynamodb/ApproximateCreationDateTime", json!(1e300)),
    ];
    for unreadable in unreadable {
        let batch = [good[0].clone(), unreadable.clone(), good[1].clone()];
        assert_eq!(scene.deliver(&batch).await, nothing_failed(), "{unreadable}");
        assert_eq!(registered(&scene.stack).await, eligible(&offers, who.iter().map(|who| (who, AT))));
    }
    for numberless in [json!({}), json!(7), json!("UserId-U-0"), broken("/dynamodb", Value::Null)] {
        assert_eq!(scene.deliver(&[good[0].clone(), numberless.clone()]).await, nothing_failed(), "{numberless}");
    }
}

/// Whether `call` writes a registration of this user.
fn is_of(call: &Call, member: &str, user: &str) -> bool {
    call.body[member]["SK"]["S"] == format!("Registration#UserId-{user}")
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_changes_are_retried_and_the_others_complete() {
    type Hits = fn(&Call) -> bool;
    let cases: [(&str, Hits, Fault, usize, usize); 8] = [
        ("a put is throttled", |call| is_of(call, "Item", "U-3"), Fault::throttled(), 3, 1),
        (
            "puts are throttled",
            |call| ["U-2", "U-4"].iter().any(|user| is_of(call, "Item", user)),
            Fault::throttling(),
            2,
            2,
        ),
        ("the response to a put is lost", |call| is_of(call, "Item", "U-1"), Fault::Lost(Moment::After), 1, 0),
        (
            "an employee cannot be read",
            |call| call.action == "GetItem" && call.body["Key"]["SK"]["S"] == "UserId-U-2",
            Fault::internal(),
            2,
            1,
        ),
        ("the list cannot be read", |call| call.action == "Query", Fault::internal(), 0, 5),
        (
            "the registrations of an employee cannot be read, so that nobody knows whether there are none",
            |call| call.body["ExpressionAttributeValues"][":p"]["S"] == "CompanyId-1#UserId-U-2#Registrations",
            Fault::internal(),
            2,
            1,
        ),
        ("the end dates cannot be read", |call| call.action == "BatchGetItem", Fault::throttled(), 0, 0),
        ("an end date cannot be updated", |call| is_of(call, "Key", "U-4"), Fault::throttled(), 4, 0),
    ];
    join_all(cases.into_iter().map(async |(what, hits, fault, from, unregistered)| {
        let offers = [offer("A-0", "2030-12-31"), offer("A-1", "2030-11-30")];
        let who = some(5);
        let scene = Scene::start(&who, &offers).await;
        let old = stale(&offers[0], &who[4], "2030-07-01");
        seed(&scene.stack, [old.clone()]).await;
        let changes = changes(&who, AT);
        scene.proxy.rule(move |call| if hits(call) { fault.clone() } else { Fault::None });
        assert_eq!(scene.deliver(&changes).await, failed_from(from), "{what}");
        let right = eligible(&offers, who.iter().map(|who| (who, AT)));
        let mut so_far = registered(&scene.stack).await;
        // The fifth employee's registration may still have its outdated end date.
        if so_far.remove(&triple(&old)) {
            so_far.extend(right.iter().find(|(user, id, _)| user == "U-4" && id == "A-0").cloned());
        }
        assert!(so_far.is_subset(&right), "{what}: {so_far:?}");
        let missing: BTreeSet<_> = right.difference(&so_far).map(|(user, ..)| user).collect();
        assert_eq!(missing.len(), unregistered, "{what}: {missing:?}");
        scene.proxy.heal();
        assert_eq!(scene.deliver(&changes[from..]).await, nothing_failed(), "{what}");
        assert_eq!(registered(&scene.stack).await, right, "{what}");
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_retried_after_the_deadline() {
    let offers = [offer("A-0", "2030-12-31"), offer("A-1", "2030-11-30")];
    let who = some(4);
    let scene = Scene::start(&who, &offers).await;
    let changes = changes(&who, AT);
    assert_eq!(scene.run(&changes, Duration::ZERO).await, Some(failed_from(0)));
    assert_eq!(registered(&scene.stack).await, Registered::new());
    seed(&scene.stack, [stale(&offers[1], &who[3], "2030-07-01")]).await;
    scene.proxy.rule(|call| if is_of(call, "Item", "U-1") { Fault::Silence } else { Fault::None });
    assert_eq!(scene.run(&changes, Duration::from_secs(6)).await, Some(failed_from(1)));
    let others = who.iter().filter(|who| who.user != "U-1").map(|who| (who, AT));
    assert_eq!(
        registered(&scene.stack).await,
        eligible(&offers, others),
        "the end dates must be checked within the reserved time"
    );
    scene.proxy.heal();
    assert_eq!(scene.deliver(&changes[1..]).await, nothing_failed());
    assert_eq!(registered(&scene.stack).await, eligible(&offers, who.iter().map(|who| (who, AT))));
}

/// Delays the first call of this action until `meanwhile` has run. Returns the end date of the only
/// registration.
async fn while_waiting(action: &'static str, before: Option<&str>, meanwhile: impl AsyncFn(&Scene, &Offer)) -> String {
    let (offer, who) = (offer("A", "2030-12-31"), some(1));
    let scene = Scene::start(&who, std::slice::from_ref(&offer)).await;
    seed(&scene.stack, before.map(|end| stale(&offer, &who[0], end))).await;
    scene.proxy.rule(move |call| if call.action == action && call.nth == 1 { Fault::Held } else { Fault::None });
    let changes = changes(&who, AT);
    let moved = async {
        scene.proxy.held(1).await;
        meanwhile(&scene, &offer).await;
        scene.proxy.release();
    };
    let (answer, ()) = Box::pin(async { futures::join!(scene.deliver(&changes), moved) }).await;
    assert_eq!(answer, nothing_failed());
    let registrations = stored::<Registration>(&scene.stack).await;
    assert_eq!(registrations.len(), 1);
    registrations[0].end.0.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_gets_the_end_date_of_its_activity_despite_concurrent_changes() {
    const FIRST: &str = "2030-10-31T00:00:00";
    const SECOND: &str = "2030-11-30T00:00:00";
    // The job runs after the list was read and before the registration is put.
    let too_early = async |scene: &Scene, offer: &Offer| {
        scene.move_end(offer, FIRST).await;
        scene.follow(offer, FIRST).await;
    };
    assert_eq!(while_waiting("PutItem", None, too_early).await, FIRST);
    // The job runs after the registration was put and before the activity is read again.
    assert_eq!(while_waiting("BatchGetItem", None, too_early).await, FIRST);
    // The end date changes, but the job has not run yet.
    let not_yet = async |scene: &Scene, offer: &Offer| scene.move_end(offer, FIRST).await;
    assert_eq!(while_waiting("PutItem", None, not_yet).await, FIRST);
    assert_eq!(while_waiting("BatchGetItem", None, not_yet).await, FIRST);
    // The end date changes again after it was read and before the registration is updated.
    let once_more = async |scene: &Scene, offer: &Offer| {
        scene.move_end(offer, SECOND).await;
        scene.follow(offer, SECOND).await;
    };
    assert_eq!(while_waiting("UpdateItem", Some("2030-07-01"), once_more).await, SECOND);
    // The end date changes back to that of the registration.
    let back = async |scene: &Scene, offer: &Offer| {
        scene.move_end(offer, "2030-07-01").await;
        scene.follow(offer, "2030-07-01").await;
    };
    assert_eq!(while_waiting("UpdateItem", Some("2030-07-01"), back).await, "2030-07-01T00:00:00");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_existing_registration_keeps_its_progress() {
    let (offer, who) = (offer("A", "2030-12-31"), some(1));
    let scene = Scene::start(&who, std::slice::from_ref(&offer)).await;
    let reached = Registration {
        progress: 40.4.try_into().expect("a progress"),
        progress_text: "404 / 1000 steps".to_owned(),
        earned_points: 40,
        ..stale(&offer, &who[0], "2030-07-01")
    };
    seed(&scene.stack, [reached.clone()]).await;
    assert_eq!(scene.deliver(&changes(&who, AT)).await, nothing_failed());
    let after = Registration { end: ActivityEndDateSort(offer.end), ..reached };
    assert_eq!(stored::<Registration>(&scene.stack).await, [after]);
}

fn size<T: Item>(item: &T) -> usize {
    table::size(item).expect("a size")
}

/// The attributes of an activity that GSI2 projects.
#[derive(serde::Serialize, serde::Deserialize)]
struct Narrow(BTreeMap<String, Value>);

impl Item for Narrow {
    const TYPE: &'static str = "";
}

impl Narrow {
    fn size(activity: &Activity) -> usize {
        const CARRIED: [&str; 9] =
            ["PK", "SK", "GSI2PK", "GSI2SK", "Name", "ActivityType", "SubType", "Status", "Filters"];
        let mut attributes: BTreeMap<String, Value> =
            serde_json::from_value(serde_json::to_value(activity).expect("JSON")).expect("an object");
        attributes.retain(|name, _| CARRIED.contains(&name.as_str()));
        // The index does not project `Type`.
        size(&Self(attributes)) - "Type".len()
    }
}

#[tokio::test]
async fn registrations_consume_their_declared_cost() {
    let long = "\u{1F3C3}".repeat(128);
    for (number, (user, id, data, count)) in
        [("U", "A", 0, 1), ("U", "A", 7_000, 12), (long.as_str(), &long[..500], 3_000, 3)].into_iter().enumerate()
    {
        let data = serde_json::from_value(json!(json!({"text": "x".repeat(data)}).to_string())).expect("data");
        let offers: Vec<Offer> = (10..10 + count).map(|number| offer(&format!("{id}{number}"), "2030-12-31")).collect();
        let activities: Vec<Activity> =
            offers.iter().map(|offer| Activity { data: Some(JsonText::clone(&data)), ..offer.activity() }).collect();
        let events = (10..40)
            .map(|number| Offer { kind: ActivityType::Event, ..offer(&format!("{id}E{number}"), "2030-12-31") });
        let events: Vec<Activity> = events.map(|offer| offer.activity()).collect();
        let who = [placed(user, ROLES[0], "Sales"), placed("V", ROLES[1], "Sales"), placed("W", ROLES[0], "Legal")];
        let scene = Scene::start(&who, &[]).await;
        seed(&scene.stack, activities.iter().chain(&events).cloned()).await;
        let operator = Client::operator(&scene.stack);
        let answer = operator.invoke(FUNCTION, &batch(&[who[0].change(1, AT)])).await;
        assert_eq!(answer.body, nothing_failed());
        let registrations = stored::<Registration>(&scene.stack).await;
        assert_eq!(registrations.len(), count);
        let narrow: usize = activities.iter().chain(&events).map(Narrow::size).sum();
        let case = Case {
            employee: size(&who[0].item()),
            activity: size(&activities[0]),
            registration: size(&registrations[0]),
            // The total size of the year's list, which counts as one item here.
            narrow,
            items: 1,
            eligible: count,
            ..Case::default()
        };
        assert_eq!(consumed(&answer), declared(FUNCTION, &case), "{number}: {case:?}");

        // For two employees of the same company, the function reads the list and the end dates only
        // once.
        let answer = operator.invoke(FUNCTION, &batch(&[who[1].change(2, AT), who[2].change(3, AT)])).await;
        let others = stored::<Registration>(&scene.stack).await;
        let others: Vec<_> = others.iter().filter(|other| !registrations.contains(other)).collect();
        assert_eq!(others.len(), 2 * count);
        let puts = write(size(others[0])).times(others.len() as u64);
        let (activity, places_read) = (read(case.activity).times(count as u64), Units::whole(2));
        let cost =
            Cost::default().read("Activities", activity + places_read).read("Activities/GSI2", read_eventually(narrow));
        let cost =
            cost.write("Activities", puts).write("Activities/GSI3", puts).read("Activities/GSI3", Units::whole(1));
        assert_eq!(consumed(&answer), units::declared(&cost), "{number}: two employees in one batch");

        // A repeated delivery reads the existing registrations, in the index and in the table, and
        // writes nothing. The index does not project `Type`.
        let answer = operator.invoke(FUNCTION, &batch(&[who[1].change(2, AT)])).await;
        let stored = read(size(others[0])).times(count as u64);
        let cost = Cost::default().read("Activities", activity + stored + Units::whole(1));
        let there = count * (size(others[0]) - "Type".len() - Registration::TYPE.len());
        let cost =
            cost.read("Activities/GSI2", read_eventually(narrow)).read("Activities/GSI3", read_eventually(there));
        assert_eq!(consumed(&answer), units::declared(&cost), "{number}: a repeated delivery");
    }
}

#[tokio::test]
async fn an_employee_consumes_its_declared_cost() {
    let long = "\u{1F3C3}".repeat(128);
    for (user, department) in [("U", "Sales"), (long.as_str(), long.as_str())] {
        let stack = stack().start().await.expect("a stack");
        let operator = Client::operator(&stack);
        let escaped = user.bytes().fold(String::new(), |path, byte| path + &format!("%{byte:02X}"));
        let path = of_company("1", &format!("employees/{escaped}"));
        let body = |role| json!({"role": role, "department": department, "name": department});
        let new = operator.put(&path, &body("one")).await;
        assert_eq!(new.status, 201, "{}", new.body);
        let employee = size(&stored::<Employee>(&stack).await[0]);
        assert_eq!(employee > 1_024, user == long, "only the employee with long ids exceeds 1 KB");
        let costs =
            |reads, writes| units::declared(&Cost::default().read("Activities", reads).write("Activities", writes));
        assert_eq!(consumed(&new), declared("put-employee", &Case { employee, ..Case::default() }));
        let changed = operator.put(&path, &body("two")).await;
        assert_eq!(consumed(&changed), declared("put-employee, change", &Case { employee, ..Case::default() }));
        let same = operator.put(&path, &body("two")).await;
        assert_eq!(consumed(&same), costs(read(employee), Units::ZERO));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_puts_of_an_employee_are_all_applied() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let path = of_company("1", "employees/U");
    let puts = (0..12).map(|number| json!({"role": "Spouse", "department": format!("D-{number}")}));
    let answers = join_all(puts.map(async |body| (operator.put(&path, &body).await, body))).await;
    for (answer, body) in &answers {
        assert_eq!(answer.body["department"], body["department"], "{}", answer.body);
        assert!(matches!(answer.status, 200 | 201));
    }
    assert_eq!(answers.iter().filter(|(answer, _)| answer.status == 201).count(), 1);
    let employees = stored::<Employee>(&stack).await;
    assert_eq!((employees.len(), employees[0].version), (1, 12), "no put is lost");
}
