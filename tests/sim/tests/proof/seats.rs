//! The seats of an activity in all orders of the calls of concurrent functions
//! (docs/decisions/wellness-seats.md).
//!
//! The functions are the deployed code, on a model of `DynamoDB` in memory. The exploration visits
//! all states with at most three preemptions, or fewer for scenarios with more states. Each end is
//! judged after the job has ended, once lost tickets are a minute old, and again after a further
//! sign-up.
#![allow(
    clippy::expect_used,
    clippy::needless_borrows_for_generic_args,
    clippy::needless_for_each,
    clippy::panic,
    reason = "a test may stop here"
)]

mod explore;
mod expression;
mod store;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use events::Claims;
use hostile::Rates;
use jiff::{SignedDuration, Timestamp};
use keys::Random;
use local::in_process::{Asked, InProcess};
use serde_json::{Value, json};
use system_tests::{root, wellness::references::step_of};
use template::{Selection, Template};

use explore::{Defect, Explorer, State, Task, connect, now, on_strings, run};
use store::{Call, Item, Store};

const COMPANY: &str = "C";
const START: &str = "2031-05-14T12:00:00Z";
/// Preemptions of an exhaustive exploration.
const PREEMPTIONS: u8 = 3;
/// Runs of the job until it must have ended.
const RUNS: i64 = 100;

fn sound(_: &mut Call) {}

struct World {
    stack: Arc<InProcess>,
    store: Store,
    id: String,
    version: u64,
    /// Number of requests, for their ids.
    asked: u64,
}

fn operator() -> Claims {
    let claims = json!({"sub": "operator", "scope": "wellness:operate"});
    claims.as_object().expect("an object").clone()
}

fn after(seconds: i64) -> Timestamp {
    START.parse::<Timestamp>().expect("a time") + SignedDuration::from_secs(seconds)
}

impl World {
    /// Creates an active event with this number of seats, and employees.
    async fn new(capacity: Option<u32>, employees: usize) -> Self {
        function::set_clock(now);
        fastrand::seed(1);
        let file = root().join("template.yaml");
        let text = fs::read_to_string(&file).expect("the template");
        let template = Template::read_some(&text, &file, "seats", &BTreeMap::new(), &Selection::of(&["wellness"]));
        let template = template.expect("the template");
        let stack = InProcess::start(template, &Random::seeded(1), (0, Rates::default()), &connect, on_strings);
        let stack = Arc::new(stack.expect("a stack"));
        let mut world = Self { stack, store: Store::default(), id: String::new(), version: 1, asked: 0 };
        let body = json!({
            "name": "Flu shots", "type": "event", "subType": "Health", "startDate": "2020-01-01",
            "endDate": "2099-12-31T23:59:59", "capacity": capacity,
        });
        let made = world.ask("POST", "/wellness/companies/C/activities", &body).await;
        world.id = made["activityId"].as_str().expect("an id").to_owned();
        for number in 0..employees {
            let placed = json!({"role": "R", "department": "D"});
            world.ask("PUT", &format!("/wellness/companies/C/employees/u-{number}"), &placed).await;
        }
        world
    }

    fn task(&mut self, method: &str, path: &str, body: &Value, now: Timestamp) -> Task {
        self.asked += 1;
        let asked = Asked {
            method,
            path,
            key: None,
            accept: None,
            body: (!body.is_null()).then(|| body.to_string()),
            claims: &operator(),
            now,
            id: &format!("request-{}", self.asked),
        };
        let (function, event) = self.stack.event(&asked).expect("a route");
        let names = ["join-activity", "leave-activity", "update-activity", "create-activity", "put-employee"];
        let function = names.into_iter().find(|name| *name == function).expect("a function");
        Task { name: format!("{function} {}", self.asked), function, event, now, is_mortal: false, follows: None }
    }

    async fn ask(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("{path}?companyId={COMPANY}");
        let task = self.task(method, path.trim_end_matches("?companyId=C"), body, after(0));
        let answer = run(&self.stack, &mut self.store, &task, &sound).await;
        serde_json::from_str(answer["body"].as_str().unwrap_or("null")).expect("JSON")
    }

    fn registration(&self, user: usize) -> String {
        format!("/wellness/users/u-{user}/registrations/{}?companyId={COMPANY}", self.id)
    }

    fn join(&mut self, user: usize) -> Task {
        let path = self.registration(user);
        self.task("PUT", &path, &Value::Null, after(1))
    }

    fn leave(&mut self, user: usize) -> Task {
        let path = self.registration(user);
        self.task("DELETE", &path, &Value::Null, after(1))
    }

    fn resize(&mut self, capacity: u32) -> Task {
        let path = format!("/wellness/companies/{COMPANY}/activities/{}", self.id);
        let body = json!({"version": self.version, "capacity": capacity});
        self.version += 1;
        self.task("PATCH", &path, &body, after(1))
    }

    fn job(&self, now: Timestamp) -> Task {
        let event = step_of(COMPANY, &format!("SeatsId-{}", self.id));
        Task { name: "job".to_owned(), function: "continue-job", event, now, is_mortal: false, follows: None }
    }

    async fn alone(&mut self, task: &Task) {
        let answer = run(&self.stack, &mut self.store, task, &sound).await;
        assert!(answer["statusCode"].as_u64().is_none_or(|status| status < 300), "{answer}");
    }

    /// Employees with these numbers sign up, and the job ends.
    async fn with(mut self, users: impl IntoIterator<Item = usize>) -> Self {
        for user in users {
            let join = self.join(user);
            self.alone(&join).await;
        }
        let mut store = self.store.clone();
        self.settle(&mut store, (100, 0), &sound).await.expect("the job ends");
        self.store = store;
        self
    }

    /// Runs the job until it has ended. The first run is at this second, and each run starts some
    /// seconds after the last one.
    async fn settle(&self, store: &mut Store, (first, pause): (i64, i64), defect: &Defect) -> Result<(), String> {
        for number in 1..=RUNS {
            let is_running = |item: &Item| text(item, "State") == "running" && text(item, "Kind") == "seats";
            if !store.items().any(|((table, ..), item)| table.ends_with("Jobs") && is_running(item)) {
                return Ok(());
            }
            let answer = run(&self.stack, store, &self.job(after(first + pause * number)), defect).await;
            if answer["batchItemFailures"].as_array().is_some_and(|failures| !failures.is_empty()) {
                return Err(format!("a run of the job fails: {answer}"));
            }
        }
        Err("the job does not end".to_owned())
    }
}

fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    let value = item.get(name).and_then(Value::as_object).and_then(|value| value.values().next());
    value.and_then(Value::as_str).unwrap_or_default()
}

/// The employees of the activity, by ticket.
#[derive(Debug, Default, PartialEq)]
struct Seats {
    capacity: Option<usize>,
    seated: BTreeMap<u64, String>,
    waiting: BTreeMap<u64, String>,
    /// The tickets with holders.
    held: BTreeMap<u64, String>,
}

fn seats(store: &Store) -> Seats {
    let mut seats = Seats::default();
    for ((table, _, sort), item) in store.items() {
        if !table.ends_with("Activities") {
            continue;
        }
        if sort == "Program" {
            seats.capacity = text(item, "Capacity").parse().ok();
        } else if let Some(number) = sort.strip_prefix("Ticket#") {
            if item.contains_key("UserId") {
                seats.held.insert(number.parse().expect("a number"), text(item, "UserId").to_owned());
            }
        } else if let Some(user) = sort.strip_prefix("Registration#UserId-") {
            let ticket = text(item, "Ticket").parse().unwrap_or_default();
            match text(item, "Absence") {
                "withdrawn" => {}
                "waiting" => drop(seats.waiting.insert(ticket, user.to_owned())),
                _ => drop(seats.seated.insert(ticket, user.to_owned())),
            }
        }
    }
    seats
}

/// At any time: nobody gets a seat beyond the highest capacity of the scenario.
fn within(capacity: usize, before: &Store, after: &Store) -> Result<(), String> {
    if after.seated > before.seated && after.seated > capacity {
        return Err(format!("{} of {capacity} seats are taken: {:?}", after.seated, seats(after)));
    }
    Ok(())
}

/// After the job has ended: all seats are taken, in the order of the sign-ups.
fn is_full(store: &Store) -> Result<(), String> {
    let Seats { capacity, seated, waiting, held } = seats(store);
    let members = seated.len() + waiting.len();
    let expected = members.min(capacity.unwrap_or(usize::MAX));
    if seated.len() < expected {
        return Err(format!("{} of {expected} seats are taken: {waiting:?} wait after {seated:?}", seated.len()));
    }
    if seated.keys().max().zip(waiting.keys().min()).is_some_and(|(last, first)| last > first) {
        return Err(format!("{waiting:?} wait, and {seated:?} have seats"));
    }
    let owned: BTreeMap<_, _> = seated.into_iter().chain(waiting).collect();
    if owned.len() != members || owned != held {
        return Err(format!("the tickets {held:?} do not belong to {owned:?}"));
    }
    Ok(())
}

/// A hash of the items, without what does not matter to the rest of the case: the runs of the job.
fn essence(store: &Store) -> u64 {
    let mut hasher = DefaultHasher::new();
    for ((table, partition, sort), item) in store.items() {
        if table.ends_with("Jobs") {
            (text(item, "State"), item.get("Progress").map(Value::to_string)).hash(&mut hasher);
        } else {
            (partition, sort, json!(item).to_string()).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// All orders with this number of preemptions, or this number of random orders.
enum Orders<'a> {
    All(u8),
    Random(usize, &'a mut fastrand::Rng),
}

struct Scenario<'a> {
    world: &'a mut World,
    tasks: Vec<Task>,
    /// The users of the tasks. The job and changes of the activity have none.
    users: Vec<Option<usize>>,
    defect: &'a Defect,
    capacity: usize,
    /// Ends that hold.
    judged: HashSet<(u64, bool)>,
}

impl<'a> Scenario<'a> {
    fn new(world: &'a mut World, defect: &'a Defect) -> Self {
        let capacity = seats(&world.store).capacity.expect("a capacity");
        Self { world, tasks: Vec::new(), users: Vec::new(), defect, capacity, judged: HashSet::new() }
    }

    fn add(mut self, user: Option<usize>, task: impl FnOnce(&mut World) -> Task) -> Self {
        self.tasks.push(task(self.world));
        self.users.push(user);
        self
    }

    /// Another sign-up, which differs from the last one at most in the name of the user.
    fn also(self, user: usize) -> Self {
        let last = self.tasks.len() - 1;
        let is_mortal = self.tasks[last].is_mortal;
        self.add(Some(user), |world| Task { is_mortal, follows: Some(last), ..world.join(user) })
    }

    fn join(self, user: usize) -> Self {
        self.add(Some(user), |world| world.join(user))
    }

    fn leave(self, user: usize) -> Self {
        self.add(Some(user), |world| world.leave(user))
    }

    fn resize(mut self, capacity: u32) -> Self {
        self.capacity = self.capacity.max(usize::try_from(capacity).expect("a capacity"));
        self.add(None, |world| world.resize(capacity))
    }

    fn job(self) -> Self {
        self.add(None, |world| world.job(after(2)))
    }

    /// The last task may be killed.
    fn mortal(mut self) -> Self {
        self.tasks.last_mut().expect("a task").is_mortal = true;
        self
    }

    /// Checks the responses, and the items after the job has ended and somebody else signs up.
    async fn judge(&mut self, answers: &[Option<&Value>], end: &State) -> Result<(), String> {
        let mut members: BTreeMap<usize, BTreeSet<bool>> = BTreeMap::new();
        for ((task, user), answer) in self.tasks.iter().zip(&self.users).zip(answers) {
            let joins = task.function == "join-activity";
            let Some((user, answer)) = user.zip(*answer) else { continue };
            if !joins && answer["statusCode"] == 404 {
                continue;
            }
            if answer["statusCode"].as_u64().is_none_or(|status| status >= 300) {
                return Err(format!("{} of u-{user} is refused: {answer}", task.function));
            }
            members.entry(user).or_default().insert(joins);
        }
        let now = seats(&end.store);
        for (user, kinds) in members.into_iter().filter(|(_, kinds)| kinds.len() == 1) {
            let name = format!("u-{user}");
            let is_member = now.seated.values().chain(now.waiting.values()).any(|member| *member == name);
            if !kinds.contains(&is_member) {
                return Err(format!("u-{user} has the wrong registration: {now:?}"));
            }
        }
        let late = end.late.iter().filter_map(|task| self.users[*task]).map(|user| format!("u-{user}"));
        let capacity = now.capacity.unwrap_or(usize::MAX);
        if now.seated.len() > capacity && late.into_iter().any(|late| now.seated.values().any(|user| *user == late)) {
            return Err(format!("a sign-up after the change of the capacity has a seat: {now:?}"));
        }
        let key = (essence(&end.store), end.killed.is_some());
        if self.judged.contains(&key) {
            return Ok(());
        }
        let mut store = (*end.store).clone();
        // Without a killed function, no ticket is lost, and nobody waits for a minute.
        let pause = if end.killed.is_some() { 61 } else { 0 };
        self.world.settle(&mut store, (10, pause), self.defect).await?;
        is_full(&store)?;
        // The highest number has not signed up yet.
        let mut late = self.world.join(0);
        let last = store.items().filter(|((_, partition, _), _)| partition.contains("#Employees#")).count() - 1;
        late.event = serde_json::from_str(&late.event.to_string().replace("u-0", &format!("u-{last}"))).expect("JSON");
        late.now = after(50_000);
        run(&self.world.stack, &mut store, &late, self.defect).await;
        self.world.settle(&mut store, (50_000, pause), self.defect).await?;
        is_full(&store)?;
        self.judged.insert(key);
        Ok(())
    }

    /// Whether nothing changes what the call reads.
    fn is_private(&self) -> impl Fn(&Call) -> bool + 'static {
        let resizes = self.tasks.iter().any(|task| task.function == "update-activity");
        // Only the employee's own sign-up puts these registrations.
        let is_known = |user: usize| {
            let sort = format!("Registration#UserId-u-{user}");
            self.world.store.items().any(|((_, _, known), _)| *known == sort)
                || self.users.iter().filter(|other| **other == Some(user)).count() > 1
        };
        let own: BTreeSet<String> = self
            .users
            .iter()
            .flatten()
            .filter(|user| !is_known(**user))
            .map(|user| format!("Registration#UserId-u-{user}"))
            .collect();
        move |call| {
            let (partition, sort) = (&call.body["Key"]["PK"]["S"], call.body["Key"]["SK"]["S"].as_str());
            let is_program = sort == Some("Program") && !resizes;
            let is_employee = partition.as_str().is_some_and(|partition| partition.contains("#Employees#"));
            let is_own = sort.is_some_and(|sort| own.contains(sort));
            call.action == "GetItem" && (is_program || is_employee || is_own)
        }
    }

    /// Returns the first violation in these orders.
    async fn play(mut self, orders: Orders<'_>) -> Option<String> {
        let is_private = self.is_private();
        let mut explorer = Explorer::new(&self.world.stack, self.tasks.clone(), &is_private, self.defect).await;
        let start = explorer.start(self.world.store.clone()).await;
        let capacity = self.capacity;
        let rule = move |before: &Store, after: &Store| within(capacity, before, after);
        let ends = match orders {
            Orders::All(preemptions) => explorer.explore(start, preemptions, &rule).await,
            Orders::Random(count, random) => explorer.wander(&start, count, random, &rule).await,
        };
        let ends = match ends {
            Ok(ends) => ends,
            Err(violation) => return Some(violation),
        };
        for end in &ends {
            if let Err(violation) = self.judge(&explorer.answers(end), end).await {
                return Some(violation);
            }
        }
        None
    }
}

/// Runs the work on one thread, with a paused clock and without sockets.
fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(work)
}

/// Two seats are taken, and one employee waits. A job has been started.
async fn full(capacity: u32) -> World {
    let mut world = World::new(Some(capacity), 8).await.with([5]).await;
    for user in [6, 4] {
        let join = world.join(user);
        world.alone(&join).await;
    }
    let leave = world.leave(5);
    world.alone(&leave).await;
    world
}

async fn three_sign_ups_a_leave_and_a_job(defect: &Defect, preemptions: u8) -> Option<String> {
    let mut world = full(2).await;
    let scenario = Scenario::new(&mut world, defect).join(0).also(1).also(2).leave(6).job();
    scenario.play(Orders::All(preemptions)).await
}

async fn equal_sign_ups(defect: &Defect) -> Option<String> {
    let mut world = full(3).await;
    let scenario = Scenario::new(&mut world, defect).join(0).also(0).join(1).leave(6).job();
    scenario.play(Orders::All(2)).await
}

async fn crashes(defect: &Defect) -> Option<String> {
    let mut world = full(3).await;
    let scenario = Scenario::new(&mut world, defect).join(0).mortal().also(0).join(1).leave(6).job().mortal();
    scenario.play(Orders::All(1)).await
}

/// The employee has left before, and comes back twice.
async fn returns(defect: &Defect) -> Option<String> {
    let mut world = full(3).await;
    let scenario = Scenario::new(&mut world, defect).join(5).also(5).leave(5).join(1).job();
    scenario.play(Orders::All(2)).await
}

async fn resizes(defect: &Defect) -> Option<String> {
    let mut found = None;
    for (from, to) in [(4, 2), (2, 4)] {
        let mut world = full(from).await;
        let scenario = Scenario::new(&mut world, defect).join(0).also(1).resize(to).leave(6).job();
        found = found.or(scenario.play(Orders::All(1)).await);
    }
    found
}

#[test]
fn three_sign_ups_a_leave_and_a_job_in_many_orders() {
    assert_eq!(block_on(three_sign_ups_a_leave_and_a_job(&sound, PREEMPTIONS - 1)), None);
}

#[test]
#[ignore = "takes minutes"]
fn three_sign_ups_a_leave_and_a_job_in_all_orders() {
    assert_eq!(block_on(three_sign_ups_a_leave_and_a_job(&sound, PREEMPTIONS)), None);
}

#[test]
#[ignore = "takes a minute"]
fn equal_sign_ups_in_all_orders_take_one_seat() {
    assert_eq!(block_on(equal_sign_ups(&sound)), None);
    assert_eq!(block_on(returns(&sound)), None);
}

#[test]
fn sign_ups_that_crash_in_all_orders_block_no_seat() {
    assert_eq!(block_on(crashes(&sound)), None);
}

#[test]
#[ignore = "takes a minute"]
fn changes_of_the_capacity_in_all_orders() {
    assert_eq!(block_on(resizes(&sound)), None);
}

/// Number of tickets, seats, sets of requests, and random orders of each set.
type Crowd = (usize, u32, usize, usize);

async fn random_order((tickets, seats, rounds, orders): Crowd, random: &mut fastrand::Rng) -> Option<String> {
    let mut world = World::new(Some(seats), tickets + 6).await.with(0..tickets).await;
    for _ in 0..rounds {
        let start = world.store.clone();
        let mut scenario = Scenario::new(&mut world, &sound);
        for _ in 0..random.usize(2..5) {
            let (new, old) = (tickets + random.usize(..5), random.usize(..tickets));
            scenario = match random.u8(..5) {
                0 | 1 => scenario.join(new).mortal(),
                2 => scenario.join(new).join(new),
                _ => scenario.leave(old),
            };
        }
        if random.bool() {
            scenario = scenario.resize(seats - 2 + random.u32(..5));
        }
        if let Some(violation) = scenario.job().play(Orders::Random(orders, random)).await {
            return Some(format!("{tickets} tickets: {violation}"));
        }
        world.store = start;
        world.version = 1;
    }
    None
}

#[test]
#[ignore = "takes minutes"]
fn ten_thousand_random_orders_with_up_to_a_thousand_tickets() {
    let mut random = fastrand::Rng::with_seed(7);
    for crowd in [(3, 2, 40, 200), (30, 20, 18, 100), (300, 299, 3, 50), (1_000, 990, 1, 50)] {
        assert_eq!(block_on(random_order(crowd, &mut random)), None);
    }
}

/// A condition that no item meets.
const NEVER: &str = "attribute_exists(PK) AND attribute_not_exists(PK)";

fn changes(call: &mut Call) -> impl Iterator<Item = &mut Value> {
    call.body["TransactItems"].as_array_mut().into_iter().flatten()
}

/// Each defect breaks a rule.
#[test]
#[ignore = "takes a minute"]
fn planted_bugs_are_found() {
    // A refused sign-up keeps its ticket.
    let gives_nothing_back = |call: &mut Call| {
        if is_return(call) {
            call.body["ConditionExpression"] = NEVER.into();
        }
        for change in changes(call) {
            let item = &change["Put"]["Item"];
            if item["Type"]["S"] == "Ticket" && item["UserId"].is_null() {
                change["Put"]["ConditionExpression"] = NEVER.into();
            }
        }
    };
    assert_ne!(block_on(equal_sign_ups(&gives_nothing_back)), None);
    // A late sign-up uses a ticket that the employee has given up.
    let forgets_the_last_ticket = |call: &mut Call| {
        for change in changes(call) {
            if change["Put"]["Item"]["Type"]["S"] == "Registration" {
                let condition = change["Put"]["ConditionExpression"].as_str().unwrap_or_default().to_owned();
                let kept = condition.split(" AND (attribute_not_exists").next().unwrap_or_default();
                change["Put"]["ConditionExpression"] = kept.into();
            }
        }
    };
    assert_ne!(block_on(returns(&forgets_the_last_ticket)), None);
    // A leave does not start the job.
    let starts_no_job = |call: &mut Call| {
        if let Some(changes) = call.body["TransactItems"].as_array_mut().filter(|changes| changes.len() > 2) {
            changes.retain(|change| change["Put"]["Item"]["Kind"]["S"] != "seats");
        }
    };
    assert_ne!(block_on(three_sign_ups_a_leave_and_a_job(&starts_no_job, 0)), None);
    // The job raises the limit for a capacity that has changed.
    let ignores_the_round = |call: &mut Call| {
        let names = call.body["ExpressionAttributeNames"].to_string();
        if call.action == "UpdateItem" && names.contains("\"Round\"") {
            call.body["ConditionExpression"] = Value::Null;
        }
    };
    assert_ne!(block_on(resizes(&ignores_the_round)), None);
}

/// Whether the call subtracts a ticket from those that were taken.
fn is_return(call: &Call) -> bool {
    let update = call.body["UpdateExpression"].as_str().unwrap_or_default();
    let names = call.body["ExpressionAttributeNames"].to_string();
    update.starts_with("SET") && update.contains("REMOVE") && names.contains("\"Issued\"")
}
