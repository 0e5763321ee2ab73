//! A year of a company: employees are hired and moved, sign up, leave, report progress and attend,
//! and administrators edit activities and correct points. All of this happens at the same time,
//! while jobs are killed, and streams deliver records repeatedly and in any order. At the end, the
//! registrations, points, reports and groups equal those of a plain model.

mod model;
mod script;

use super::streams::{ENROLMENT, JOBS, Streams};
use aws_sdk_dynamodb::types::AttributeValue;
use fastrand::Rng;
use futures::{StreamExt, future::join_all, stream};
use local::Stack;
use model::{Activity, Counts, Employee, Model, PLANS, Place, Registration, Registrations, Reward};
use script::{Script, Step, digit, percent};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use system_tests::{
    Answer, Client, parsed, send, text,
    wellness::{admin, create, employee_key, of_company, put, registration_of, registrations_of},
};
use tokio::time::sleep;
use wellness::LastChange;

const COMPANY: &str = "C";
const SCOPE: &str = "wellness:read wellness:write";
/// Maximum number of concurrent requests of employees.
const AT_ONCE: usize = 16;

/// The size of a company and of its year.
struct Size {
    employees: usize,
    departments: usize,
    activities: usize,
    /// The number of employees who are hired, and of those who are moved.
    placed: usize,
    /// The number of other employees who send requests.
    active: usize,
    /// The number of requests that record attendance.
    attendances: usize,
    kills: [(&'static str, usize); 2],
    /// The number of employees whose lists and journals are read through the API.
    read: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_company_of_1000_matches_a_plain_model() {
    let kills = [(JOBS, 5), (ENROLMENT, 2)];
    year(Size {
        employees: 1_000,
        departments: 20,
        activities: 50,
        placed: 150,
        active: 150,
        attendances: 20,
        kills,
        read: 50,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn a_company_of_5000_matches_a_plain_model() {
    let kills = [(JOBS, 50), (ENROLMENT, 10)];
    year(Size {
        employees: 5_000,
        departments: 50,
        activities: 100,
        placed: 300,
        active: 300,
        attendances: 40,
        kills,
        read: 100,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn a_company_of_50000_matches_a_plain_model() {
    let kills = [(JOBS, 50), (ENROLMENT, 20)];
    year(Size {
        employees: 50_000,
        departments: 100,
        activities: 100,
        placed: 300,
        active: 1_000,
        attendances: 100,
        kills,
        read: 300,
    })
    .await;
}

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

async fn year(size: Size) {
    let seed = std::env::var("WELLNESS_SEED").ok().and_then(|seed| seed.parse().ok());
    // With this seed, registrations of each status occur, which the check at the end requires.
    let seed = seed.unwrap_or(2);
    println!("WELLNESS_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let (stack, streams) = Streams::start(rng.fork(), size.kills).await;
    let mut year =
        Year { admin: admin(&stack, COMPANY), operator: Client::operator(&stack), stack, model: Mutex::default() };
    year.employ(&mut rng, &size).await;
    streams.open();
    year.publish(&mut rng, &size).await;
    let staff = year.model().employees.clone();
    let activities = year.model().activities.clone();
    let scripts = script::scripts(&mut rng, &size, &activities, &staff);
    let edits: Vec<_> = (0..activities.len()).map(|number| year.edit(number, rng.fork(), &size)).collect();
    let attended = (0..size.attendances).map(|_| {
        let number = rng.usize(..activities.len());
        (number, script::attendees(&mut rng, &activities[number], &staff))
    });
    let attended: Vec<_> = attended.collect();
    let attended = stream::iter(&attended).for_each_concurrent(2, |(number, users)| year.attend(*number, users));
    let edited = stream::iter(edits).for_each_concurrent(4, |edit| edit);
    tokio::join!(year.play(&scripts), edited, attended);
    year.reward(&mut rng, &scripts).await;
    year.settle().await;
    assert_eq!([JOBS, ENROLMENT].map(|name| streams.kills_left(name)), [0, 0], "kills");
    assert!(streams.repeated() > 20, "{}", streams.repeated());
    year.check(&mut rng, &size).await;
    year.stack.stop().await;
}

/// A company, and the model of its year.
struct Year {
    stack: Stack,
    admin: Client,
    operator: Client,
    model: Mutex<Model>,
}

impl Year {
    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the employees of earlier years directly into the table.
    async fn employ(&mut self, rng: &mut Rng, size: &Size) {
        let staff: BTreeMap<String, Employee> =
            (0..size.employees).map(|number| (format!("u-{number}"), script::employee(rng, size))).collect();
        let item = |(user, employee): (&String, &Employee)| {
            let key = employee_key(COMPANY, user);
            wellness::Employee {
                partition: parsed(key.partition()),
                sort: parsed(key.sort()),
                name: None,
                role: parsed(&employee.role),
                department: parsed(&employee.department),
                last_change: LastChange::Other,
                version: 1,
            }
        };
        put(&self.stack, &staff.iter().map(item).collect::<Vec<_>>()).await;
        self.model().employees = staff;
        system_tests::drained(&self.operator, ENROLMENT).await;
    }

    /// Creates the plans and the activities.
    async fn publish(&self, rng: &mut Rng, size: &Size) {
        for (plan, first, last) in PLANS.iter().take(2) {
            let body = json!({"name": plan, "startDate": first, "endDate": last});
            assert_eq!(self.admin.put(&of(&format!("plans/{plan}")), &body).await.status, 201);
        }
        for number in 0..size.activities {
            let mut activity = script::activity(rng, size, number);
            let body = create(&self.admin, COMPANY, &script::body(number, &activity)).await;
            text(&body, "activityId").clone_into(&mut activity.id);
            if let Some(groups) = &mut activity.groups {
                let found = self.admin.get(&of(&format!("activities/{}", activity.id))).await.body;
                let items = found["groups"]["items"].as_array().expect("groups").iter();
                groups.ids = items.map(|group| text(group, "groupId").to_owned()).collect();
            }
            self.model().activities.push(activity);
        }
    }

    /// Runs the scripts of the employees concurrently.
    async fn play(&self, scripts: &[Script]) {
        let outcomes = stream::iter(scripts).map(async |(user, steps)| {
            let employee = self.admin.of_member(&self.stack, SCOPE, COMPANY, user);
            let mut done = 0;
            for step in steps {
                done += usize::from(self.step(&employee, user, step).await);
            }
            [done, steps.len()]
        });
        let outcomes: Vec<_> = outcomes.buffer_unordered(AT_ONCE).collect().await;
        let [done, sent] = [0, 1].map(|index| outcomes.iter().map(|outcome| outcome[index]).sum::<usize>());
        // In a large company, many employees send requests before the job has enrolled them.
        assert!(done > sent / 3, "only {done} of {sent} requests succeeded");
    }

    /// Sends a request, and adds its outcome to the model. Returns whether it has succeeded.
    ///
    /// The model takes from the service only whether a request has succeeded. That may depend on
    /// the moment, because jobs enrol and withdraw employees at the same time.
    async fn step(&self, employee: &Client, user: &str, step: &Step) -> bool {
        match step {
            Step::Place(placed) => {
                let body = json!({"role": placed.role, "department": placed.department});
                let answer = self.admin.put(&of(&format!("employees/{user}")), &body).await;
                assert!([200, 201].contains(&answer.status), "{user}: {}", answer.body);
                self.model().employees.insert(user.to_owned(), placed.clone());
                true
            }
            Step::Report(number, progress) => {
                let body = json!({"progress": percent(*progress)});
                self.report(employee, user, *number, &body, (*progress, None)).await
            }
            Step::Steps(number, steps) => {
                let target = self.model().activities[*number].target;
                let reached = (steps * model::WHOLE / target, Some(format!("{steps} / {target} steps")));
                self.report(employee, user, *number, &json!({"value": steps}), reached).await
            }
            Step::Correct(number, progress) => {
                let body = json!({"progress": percent(*progress), "correction": true});
                self.report(&self.admin, user, *number, &body, (*progress, None)).await
            }
            Step::Join(number) => self.join(employee, user, *number, false).await,
            Step::Assign(number) => self.join(&self.admin, user, *number, true).await,
            Step::Leave(number) => {
                let id = self.id(*number);
                let answer = send(employee.request("DELETE", &registration_of(COMPANY, user, &id))).await;
                let left = is_done(&answer, &[204]);
                if left {
                    self.model().left(*number, user);
                }
                left
            }
            Step::Points(plan, points) => {
                let body = json!({"planId": plan, "amount": points, "reason": "Counted wrongly"});
                let path = format!("/wellness/users/{user}/points");
                let key = format!("{user}-{plan}");
                for _ in 0..2 {
                    let answer = self.admin.post_once(&path, &key, &body).await;
                    assert_eq!(answer.status, 201, "{}", answer.body);
                }
                self.model().corrections.push((user.to_owned(), (*plan).to_owned(), *points));
                true
            }
        }
    }

    fn id(&self, number: usize) -> String {
        self.model().activities[number].id.clone()
    }

    /// Reports progress. `reached` is the progress and, for steps, its text.
    async fn report(
        &self,
        client: &Client,
        user: &str,
        number: usize,
        body: &Value,
        (progress, text): (u64, Option<String>),
    ) -> bool {
        let answer = client.patch(&registration_of(COMPANY, user, &self.id(number)), body).await;
        let is_lower = progress < self.model().progress(number, user) && body["correction"] != true;
        let recorded = is_done(&answer, &[200]);
        assert!(!(recorded && is_lower), "{user} has reported less: {}", answer.body);
        if recorded {
            assert_eq!(answer.body["progress"], percent(progress), "{}", answer.body);
            self.model().reported(number, user, progress, text);
        }
        recorded
    }

    /// Signs up, or puts the employee in. Chooses a group by the user id.
    async fn join(&self, client: &Client, user: &str, number: usize, assigns: bool) -> bool {
        let (id, groups) = (self.id(number), self.model().activities[number].groups.clone());
        let group = groups.map(|groups| groups.ids[user.len() % groups.ids.len()].clone());
        let request = client.request("PUT", &registration_of(COMPANY, user, &id));
        let answer =
            send(if let Some(group) = &group { request.json(&json!({"groupId": group})) } else { request }).await;
        if answer.status == 201 {
            self.model().joined(number, user, assigns);
        }
        let joined = is_done(&answer, &[200, 201]);
        if let Some(group) = group.filter(|_| joined) {
            self.model().grouped(number, user, &group);
        }
        joined
    }

    /// Records the attendance of some employees.
    async fn attend(&self, number: usize, users: &[String]) {
        let path = of(&format!("activities/{}/attendance", self.id(number)));
        let answer = self.admin.post(&path, &json!({"userIds": users})).await;
        if !is_done(&answer, &[200]) {
            return;
        }
        for item in answer.body["items"].as_array().expect("items") {
            match text(item, "outcome") {
                "recorded" => self.model().attended(number, text(item, "userId")),
                outcome => assert_eq!(outcome, "not-enrolled", "{item}"),
            }
        }
    }

    /// Edits an activity according to the last digit of its number.
    async fn edit(&self, number: usize, mut rng: Rng, size: &Size) {
        let mut patches = Vec::new();
        if script::changes_filters(number) {
            let [roles, departments] = script::filters(&mut rng, size, number);
            patches.push(json!({"filters": {"roles": roles, "departments": departments}}));
            let activity = &mut self.model().activities[number];
            (activity.roles, activity.departments) = (roles, departments);
        }
        if script::changes_end(number) {
            let old = self.model().activities[number].end.clone();
            let end = script::other_end(&mut rng, &old);
            patches.push(json!({"endDate": script::end_of(&end)}));
            self.model().activities[number].end = end;
        }
        if number % 10 == digit::CANCELLED && number < 20 {
            patches.extend(["cancelled", "active"].map(|status| json!({"status": status})));
        }
        if number % 10 == digit::RENAMED {
            patches.push(json!({"name": "Renamed", "data": {"color": "red"}}));
        }
        if number == digit::LIMITED {
            patches.push(json!({"capacity": 20}));
            self.model().activities[number].capacity = Some(20);
        }
        let path = of(&format!("activities/{}", self.id(number)));
        let mut version = json!(1);
        for mut patch in patches {
            patch["version"] = version;
            let answer = self.admin.patch(&path, &patch).await;
            assert_eq!(answer.status, 200, "{patch}: {}", answer.body);
            version = answer.body["version"].clone();
        }
    }

    /// Changes the rewards of some challenges, while employees report progress. No progress is
    /// lowered meanwhile, so the result does not depend on the order.
    async fn reward(&self, rng: &mut Rng, scripts: &[Script]) {
        let activities: Vec<_> = self.model().activities.iter().cloned().enumerate().collect();
        let rewarded = activities.iter().filter(|(number, _)| number % 10 == digit::REWARDED);
        let rewarded: Vec<_> = rewarded.map(|(number, activity)| (*number, activity)).collect();
        // Awards keep their points. No report is in flight.
        for (number, activity) in &rewarded {
            let goal = Reward { points: activity.rewards["Goal"].points + 1, ..activity.rewards["Goal"] };
            self.put_reward(*number, "Goal", goal, 1).await;
        }
        let reports = scripts.iter().map(|(user, _)| {
            let own = self.model().employees[user].clone();
            let own: Vec<_> = rewarded.iter().filter(|(_, activity)| activity.admits(&own)).collect();
            let steps = own.iter().map(|(number, _)| Step::Report(*number, rng.u64(1..=12_000)));
            (user.clone(), steps.collect())
        });
        let reports: Vec<Script> = reports.filter(|(_, steps): &Script| !steps.is_empty()).collect();
        let changed = join_all(rewarded.iter().map(async |(number, activity)| {
            let half = Reward { percent: 3_000, ..activity.rewards["Half"] };
            self.put_reward(*number, "Half", half, 2).await;
            self.put_reward(*number, "Bonus", Reward { percent: 2_000, points: 7 }, 3).await;
        }));
        tokio::join!(self.play(&reports), changed);
    }

    async fn put_reward(&self, number: usize, kind: &str, reward: Reward, version: u64) {
        let mut body = script::reward(kind, reward);
        body["version"] = version.into();
        let path = of(&format!("activities/{}/rewards/{kind}", self.id(number)));
        let answer = self.admin.put(&path, &body).await;
        assert!([200, 201].contains(&answer.status), "{}", answer.body);
        self.model().put_reward(number, kind, reward);
    }

    /// Waits until no job runs, and the streams are empty. A function of a stream may put a job, so
    /// both must be so twice.
    async fn settle(&self) {
        let mut quiet = 0;
        for _ in 0..20_000 {
            let streams = self.operator.get("/_local/streams").await.body;
            let mappings = streams["mappings"].as_array().expect("mappings").iter();
            let pending: u64 = mappings.filter_map(|mapping| mapping["pending"].as_u64()).sum();
            let is_quiet = pending == 0 && self.jobs_done().await;
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if quiet == 2 {
                return;
            }
            sleep(Duration::from_millis(200)).await;
        }
        unreachable!("the jobs do not end");
    }

    async fn jobs_done(&self) -> bool {
        let items = self.scan("WellnessJobs").await;
        // The list of the jobs that callers have started has no state.
        let states = items.iter().filter_map(|item| string(item, "State")).collect::<Vec<_>>();
        assert!(states.iter().all(|state| state != "failed"), "{items:?}");
        states.iter().all(|state| state == "done")
    }

    async fn scan(&self, table: &str) -> Vec<Item> {
        let name = self.stack.table(table).expect("a table");
        let scan = self.stack.client().expect("a client").scan().table_name(name).consistent_read(true);
        scan.into_paginator().items().send().collect::<Result<_, _>>().await.expect("items")
    }

    async fn check(&self, rng: &mut Rng, size: &Size) {
        let items = self.scan("Activities").await;
        let numbers =
            self.model().activities.iter().enumerate().map(|(number, one)| (one.id.clone(), number)).collect();
        let (stored, tickets) = registrations(&items, &numbers);
        let right = self.model().registrations(&tickets);
        for status in ["enrolled", "waiting", "completed", "not-completed", "withdrawn"] {
            assert!(right.values().any(|one| one.status == status), "nobody is {status}");
        }
        assert_same("registrations in the table", &stored, &right);
        self.check_participants(&right).await;
        let mut users: Vec<_> = self.model().employees.keys().cloned().collect();
        rng.shuffle(&mut users);
        users.truncate(size.read);
        users.extend(self.model().corrections.iter().map(|(user, ..)| user.clone()));
        stream::iter(users).for_each_concurrent(AT_ONCE, |user| self.check_user(user, &right)).await;
        for (plan, ..) in PLANS {
            self.check_report(plan, &right).await;
        }
        self.check_groups(&right).await;
    }

    /// The lists of participants equal the model.
    async fn check_participants(&self, right: &Registrations) {
        let activities = self.model().activities.clone();
        let pages = stream::iter(activities.iter().enumerate()).map(async |(number, activity)| {
            let path = of(&format!("activities/{}/participants?limit=100", activity.id));
            let (items, _) = self.admin.all(&path).await;
            items.iter().map(|item| ((number, text(item, "userId").to_owned()), participant(item))).collect::<Vec<_>>()
        });
        let found: Vec<Vec<_>> = pages.buffer_unordered(AT_ONCE).collect().await;
        let employees = self.model().employees.clone();
        let participant = |(place, one): (&Place, &Registration)| {
            let department = &employees[&place.1].department;
            (
                place.clone(),
                json!([department, one.status, percent(one.progress), one.text, one.points(), one.group, one.attended]),
            )
        };
        assert_same("participants", &found.into_iter().flatten().collect(), &right.iter().map(participant).collect());
    }

    /// The registrations and the journals of an employee equal the model.
    async fn check_user(&self, user: String, right: &Registrations) {
        let employee = self.admin.of_member(&self.stack, SCOPE, COMPANY, &user);
        for (plan, ..) in PLANS {
            let points = employee.get(&format!("/wellness/users/{user}/points?planId={plan}")).await;
            assert_eq!(points.status, 200, "{}", points.body);
            let entry = |item: &Value| {
                let own = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
                (own("activityId"), own("kind"), item["points"].as_i64().expect("points"))
            };
            let mut entries: Vec<_> = points.body["items"].as_array().expect("items").iter().map(entry).collect();
            entries.sort();
            let journal = self.model().journal(&user, plan, right);
            assert_eq!(entries, journal, "{user} in {plan}");
            let total: i64 = journal.iter().map(|(.., points)| points).sum();
            assert_eq!(points.body["total"], total, "{user} in {plan}");
        }
        let path = format!("{}&from=2020-01-01&to=2021-12-31", registrations_of(COMPANY, &user));
        let mut found = employee.get(&path).await.body["items"].as_array().expect("items").clone();
        for (from, to) in [("2097-01-01", "2098-12-31"), ("2099-01-01", "2100-12-31")] {
            let path = format!("{}&from={from}&to={to}", registrations_of(COMPANY, &user));
            found.extend(employee.get(&path).await.body["items"].as_array().expect("items").clone());
        }
        let mut found: Vec<_> =
            found.iter().map(|one| (text(one, "activityId").to_owned(), text(one, "status").to_owned())).collect();
        found.sort();
        let own = right.iter().filter(|((_, of), one)| *of == user && one.status != "withdrawn");
        let mut own: Vec<_> = own.map(|((number, _), one)| (self.id(*number), one.status.to_owned())).collect();
        own.sort();
        assert_eq!(found, own, "{user}");
    }

    /// The report of a plan equals the sums of the model.
    async fn check_report(&self, plan: &str, right: &Registrations) {
        let path = of(&format!("plans/{plan}/report"));
        let started = self.admin.post(&path, &json!({})).await;
        assert_eq!(started.status, 202, "{}", started.body);
        self.settle().await;
        let (rows, _) = self.admin.all(&format!("{path}?limit=100")).await;
        let mut counts = Counts::new();
        for row in &rows {
            for one in row["departments"].as_array().expect("departments") {
                let activity = row["activityId"].as_str().unwrap_or_default().to_owned();
                let numbers = ["registered", "completed", "points"].map(|name| one[name].as_u64().expect("a number"));
                counts.insert((activity, text(one, "department").to_owned()), numbers);
            }
        }
        assert_same(&format!("report of {plan}"), &counts, &self.model().report(plan, right));
    }

    /// The progress of the groups equals the model.
    async fn check_groups(&self, right: &Registrations) {
        let started = self.operator.invoke("start-group-progress", &json!({})).await.body;
        assert!(started["started"].as_u64() > Some(0), "{started}");
        self.settle().await;
        let activities: Vec<Activity> = self.model().activities.clone();
        let mut members = 0;
        for (number, activity) in activities.iter().enumerate().filter(|(_, activity)| activity.groups.is_some()) {
            let found = self.admin.get(&of(&format!("activities/{}", activity.id))).await.body;
            let items = found["groups"]["items"].as_array().expect("groups").iter();
            let group = |item: &Value| (text(item, "groupId").to_owned(), json!([item["progress"], item["members"]]));
            let right = self.model().groups(number, right);
            members += right.values().map(|(_, members)| members).sum::<u64>();
            let right = right.into_iter().map(|(group, (progress, count))| (group, json!([percent(progress), count])));
            assert_same("groups", &items.map(group).collect(), &right.collect());
        }
        assert!(members > 10, "the groups have {members} members");
    }
}

/// Whether a request has succeeded. Otherwise, the employee does not take part at this moment, or
/// the activity does not admit the request.
fn is_done(answer: &Answer, statuses: &[u16]) -> bool {
    let is_done = statuses.contains(&answer.status);
    assert!(is_done || [404, 409].contains(&answer.status), "{}: {}", answer.status, answer.body);
    is_done
}

type Item = HashMap<String, AttributeValue>;

fn string(item: &Item, attribute: &str) -> Option<String> {
    item.get(attribute)?.as_s().ok().cloned()
}

fn number(value: &AttributeValue) -> f64 {
    parsed(value.as_n().expect("a number"))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is small and positive")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// Returns the stored registrations, and the tickets of those who signed up.
fn registrations(items: &[Item], numbers: &BTreeMap<String, usize>) -> (Registrations, BTreeMap<Place, u64>) {
    let (mut all, mut tickets) = (Registrations::new(), BTreeMap::new());
    for item in items {
        let key = |name| string(item, name).expect("a key");
        let Some(user) = key("SK").strip_prefix("Registration#UserId-").map(str::to_owned) else { continue };
        let activity = key("PK").strip_prefix("ActivityId-").map(str::to_owned).expect("an activity");
        let place = (numbers[&activity], user);
        if let Some(ticket) = item.get("Ticket") {
            tickets.insert(place.clone(), whole(number(ticket)));
        }
        let registration = registration(item);
        assert_eq!(registration.points(), whole(number(&item["EarnedPoints"])), "{item:?}");
        all.insert(place, registration);
    }
    (all, tickets)
}

fn registration(item: &Item) -> Registration {
    let award = |award: &AttributeValue| {
        let award = award.as_m().expect("an award");
        (string(award, "Kind").expect("a kind"), whole(number(&award["Points"])))
    };
    let awards: Vec<_> =
        item.get("Awards").map(|awards| awards.as_l().expect("awards").iter().map(award).collect()).unwrap_or_default();
    let count = awards.len();
    let awards: BTreeMap<_, _> = awards.into_iter().collect();
    assert_eq!(awards.len(), count, "a reward counts once: {item:?}");
    let end = string(item, "GSI3SK").expect("an end");
    let end = end.strip_prefix("ActivityEndDate#").and_then(|end| end.split('T').next()).expect("a day").to_owned();
    let (progress, attended) = (whole(number(&item["Progress"]) * 100.0), item.contains_key("AttendedAt"));
    let status = match string(item, "Absence").as_deref() {
        Some("withdrawn") => "withdrawn",
        Some("waiting") => "waiting",
        _ if progress >= model::WHOLE || attended => "completed",
        _ if end.as_str() < "2021" => "not-completed",
        _ => "enrolled",
    };
    let (text, group) = (string(item, "ProgressText").expect("a text"), string(item, "GroupId"));
    Registration { status, progress, text, attended, awards, group, end }
}

/// The part of a participant that the test compares.
fn participant(item: &Value) -> Value {
    let member = |name: &str| item[name].clone();
    json!([
        member("department"),
        member("status"),
        member("progress"),
        member("progressText"),
        member("earnedPoints"),
        member("groupId"),
        item["attendedAt"].is_string()
    ])
}

/// Compares two maps, and shows the first differences.
fn assert_same<K: Ord + Clone + Debug, V: PartialEq + Debug>(
    what: &str,
    found: &BTreeMap<K, V>,
    right: &BTreeMap<K, V>,
) {
    let keys = found.keys().chain(right.keys().filter(|key| !found.contains_key(key)));
    let other: Vec<_> = keys.filter(|key| found.get(key) != right.get(key)).collect();
    let shown = other.iter().take(5).map(|key| format!("\n{key:?}: {:?} is not {:?}", found.get(key), right.get(key)));
    assert!(other.is_empty(), "{what}: {} of {} differ{}", other.len(), right.len(), shown.collect::<String>());
    assert!(!right.is_empty(), "{what}: nothing to compare");
}
