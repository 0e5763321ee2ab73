//! Tests of fair shares: jobs of a company delay no job of another company, and callers of a
//! company can only start a limited number of jobs (docs/decisions/jobs.md).

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::join_all;
use jobs::Job;
use keys::wellness::JobId;
use local::Stack;
use serde_json::json;
use std::fmt::Write as _;
use system_tests::{
    Answer, Client, assert_problem, send, text, until,
    wellness::{
        activity, admin,
        files::{file_of, upload_file},
        of_company, put,
        references::{Rows, read, step_of, without_jobs},
        stack, stored_in,
    },
};
use table::BatchWrite;
use wellness::{Activity, Task, job_key};

const OTHER: &str = "Other";

async fn running(stack: &Stack, company: &str) -> usize {
    let items = stored_in("WellnessJobs", stack, None, &format!("CompanyId-{company}")).await;
    let is_running = |state: &AttributeValue| state.as_s().is_ok_and(|it| it == "running");
    items.iter().filter(|item| item.get("State").is_some_and(is_running)).count()
}

fn ends_in(company: &str, year: usize) -> Activity {
    activity(company, &format!("{company}-{year}"), "Walk", &format!("{year}-06-30"))
}

async fn start_report(client: &Client, company: &str, year: usize) -> Answer {
    client.post(&of_company(company, &format!("plans/{year}/report")), &json!({})).await
}

fn is_done(answer: &Answer) -> bool {
    answer.body["status"] == "done"
}

/// Runs a job that a caller starts and one that a write needs.
async fn run_jobs_of_other(client: &Client) {
    let of = |rest: &str| of_company(OTHER, rest);
    let placed = client.put(&of("employees/e"), &json!({"role": "R", "department": "D"})).await;
    assert_eq!(placed.status, 201, "{}", placed.body);
    assert_eq!(send(client.request("DELETE", &of("employees/e"))).await.status, 202);
    assert_eq!(start_report(client, OTHER, 2099).await.status, 202);
    until(client, &of("jobs/ReportId-2099"), is_done).await;
    until(client, &of("jobs/DepartureId-e"), is_done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_jobs_delays_no_job_of_another_company() {
    let stack = stack().start().await.expect("a stack");
    put(&stack, &[ends_in(OTHER, 2099)]).await;
    let (rows, mut batch) = (Rows::of(&stack), BatchWrite::default());
    for number in 0..1_500 {
        let id: JobId = read(format!("DepartureId-{number}"));
        let key = job_key(&read("Flood"), &id);
        let job = Job::new(&key, &id, &"flood", &Task::Depart, read("2026-01-01T00:00:00Z")).expect("a job");
        batch.put(&rows.jobs, &job).expect("writable");
    }
    rows.dynamo.batch_write(batch).await.expect("written");
    run_jobs_of_other(&admin(&stack, OTHER)).await;
    let left = running(&stack, "Flood").await;
    assert!(left > 500, "the other company waited until {left} jobs were left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_import_delays_no_job_of_another_company() {
    const LINES: u64 = 4_000;
    let stack = stack().start().await.expect("a stack");
    let (flood, client) = (admin(&stack, "Large"), admin(&stack, OTHER));
    put(&stack, &[ends_in(OTHER, 2099)]).await;
    let mut file = "userId,role,department\n".to_owned();
    (0..LINES).for_each(|line| writeln!(file, "u-{line},R,D").expect("a line"));
    let mut request = file_of("", "", file.as_bytes());
    request.as_object_mut().expect("an object").retain(|name, _| name == "bytes" || name == "sha256");
    let made = flood.post(&of_company("Large", "employee-imports"), &request).await;
    assert_eq!(upload_file(&made.body["upload"], file.as_bytes()).await, 200);
    let import = of_company("Large", &format!("employee-imports/{}", text(&made.body, "importId")));
    until(&flood, &import, |answer| answer.body["status"] == "running").await;
    run_jobs_of_other(&client).await;
    let import = flood.get(&import).await.body;
    assert!(import["status"] == "running" && import["read"].as_u64() < Some(LINES), "{import}");
}

/// No job runs on this stack, so every started job stays running.
#[tokio::test(flavor = "multi_thread")]
async fn callers_of_a_company_start_ten_jobs_at_most() {
    const COMPANY: &str = "C";
    let stack = without_jobs().start().await.expect("a stack");
    let (client, rows) = (admin(&stack, COMPANY), Rows::of(&stack));
    put(&stack, &(2030..2060).map(|year| ends_in(COMPANY, year)).collect::<Vec<_>>()).await;
    put(&stack, &[ends_in(OTHER, 2099)]).await;
    let answers = join_all((2030..2050).map(|year| start_report(&client, COMPANY, year))).await;
    let mut years: Vec<usize> = Vec::new();
    for (year, answer) in (2030..).zip(&answers) {
        match answer.status {
            202 => years.push(year),
            429 => assert_problem(answer, 429, "job-limit"),
            // Concurrent starts conflict. The caller sends the request again.
            status => assert_eq!(status, 503, "{}", answer.body),
        }
    }
    for year in (2030..2050).filter(|year| !answers[year - 2030].body["jobId"].is_string()) {
        years.extend((start_report(&client, COMPANY, year).await.status == 202).then_some(year));
    }
    assert_eq!((years.len(), running(&stack, COMPANY).await), (10, 10), "{years:?}");
    let full = start_report(&client, COMPANY, 2055).await;
    assert_problem(&full, 429, "job-limit");
    assert_eq!(full.headers["retry-after"], "5");
    let replacement = json!({"replacementId": "new", "data": {}});
    let replace = of_company(COMPANY, "references/venues/old/replacement");
    assert_problem(&client.post(&replace, &replacement).await, 429, "job-limit");
    let import = json!({"bytes": 9, "sha256": "0".repeat(64)});
    assert_problem(&client.post(&of_company(COMPANY, "employee-imports"), &import).await, 429, "job-limit");
    // A repeated request returns its running job, and another company has its own share.
    assert_eq!(start_report(&client, COMPANY, years[3]).await.status, 202);
    assert_eq!(start_report(&admin(&stack, OTHER), OTHER, 2099).await.status, 202);
    // A write never fails because of the jobs that it needs.
    for user in 0..12 {
        let path = of_company(COMPANY, &format!("employees/{user}"));
        assert_eq!(client.put(&path, &json!({"role": "R", "department": "D"})).await.status, 201);
        assert_eq!(send(client.request("DELETE", &path)).await.status, 202);
    }
    assert_eq!(running(&stack, COMPANY).await, 22);
    // A job that ends or fails makes room. A retry needs room, too.
    let job = format!("ReportId-{}", years[0]);
    client.invoke("continue-job", &step_of(COMPANY, &job)).await;
    assert_eq!(client.get(&of_company(COMPANY, &format!("jobs/{job}"))).await.body["status"], "done");
    assert_eq!(client.post(&replace, &replacement).await.status, 202);
    assert_problem(&start_report(&client, COMPANY, 2055).await, 429, "job-limit");
    let failed = format!("ReportId-{}", years[1]);
    let key = job_key(&read(COMPANY), &read(&failed));
    let fail = rows.jobs.update(key).set(Job::STATE, &"failed").remove(Job::RUN);
    rows.dynamo.write(fail).await.expect("written");
    assert_eq!(start_report(&client, COMPANY, 2055).await.status, 202);
    let retry = of_company(COMPANY, &format!("jobs/{failed}/retry"));
    assert_problem(&send(client.request("POST", &retry)).await, 429, "job-limit");
    client.invoke("continue-job", &step_of(COMPANY, "ReportId-2055")).await;
    assert_eq!(send(client.request("POST", &retry)).await.status, 202);
    assert_problem(&send(client.request("POST", &retry)).await, 409, "job-not-failed");
    assert_problem(&start_report(&client, COMPANY, 2056).await, 429, "job-limit");
    // A list that cannot be read blocks nobody.
    let starts = table::Key::new(&format!("CompanyId-{COMPANY}"), &"Starts");
    rows.dynamo.write(rows.jobs.update(starts).set(Job::RUN, 1)).await.expect("written");
    assert_eq!(start_report(&client, COMPANY, 2056).await.status, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_needs_an_activity_in_its_plan() {
    const COMPANY: &str = "C";
    let stack = without_jobs().start().await.expect("a stack");
    let (client, rows) = (admin(&stack, COMPANY), Rows::of(&stack));
    put(&stack, &[ends_in(COMPANY, 2040), ends_in(OTHER, 2042)]).await;
    for year in [2041, 2042, 9998] {
        assert_problem(&start_report(&client, COMPANY, year).await, 409, "no-activities");
    }
    assert_eq!(running(&stack, COMPANY).await, 0);
    assert_eq!(start_report(&client, COMPANY, 2040).await.status, 202);
    for _ in 0..3 {
        client.invoke("continue-job", &step_of(COMPANY, "ReportId-2040")).await;
    }
    // The plan has lost its activity. A new report says so.
    rows.dynamo.write(rows.table.delete(Activity::key_of(&read(format!("{COMPANY}-2040"))))).await.expect("deleted");
    assert_eq!(start_report(&client, COMPANY, 2040).await.status, 202);
}
