//! `local demo`: every access pattern once, with its key condition and what it consumed.
use http::StatusCode;
use itertools::Itertools;
use serde_json::{Value, json};

use super::{CliError, StackOptions};
use crate::{
    Stack,
    client::{Call, Client, Consumed, Reply, summary},
    sample,
};

const LONGEST_ANSWER: usize = 24;
const MOST_CONDITIONS: usize = 5;
const TRANSACTION: &str = "demo-transaction-1";

pub(super) async fn demo(options: &StackOptions) -> Result<(), CliError> {
    let stack = options.builder().start().await?;
    let walked = walk(&stack).await;
    stack.stop().await;
    walked
}

async fn walk(stack: &Stack) -> Result<(), CliError> {
    let client = Client::new(stack.url())?.with_token(stack.operator_token()?);
    sample::load(&client).await.map_err(|error| CliError::Failed(error.to_string()))?;
    let guide = Guide { client };
    let (first, second) = guide.schedule().await?;
    guide.payments(&first, &second).await?;
    guide.moves(&first).await?;
    guide.history(&first).await?;
    guide.get_payment(&second).await?;
    println!("Every access pattern answered as it should.");
    Ok(())
}

/// One call of the walk.
struct Step {
    pattern: &'static str,
    what: &'static str,
    call: Call,
    status: StatusCode,
}

struct Guide {
    client: Client,
}

impl Guide {
    async fn schedule(&self) -> Result<(String, String), CliError> {
        let mut ids = Vec::new();
        for number in 1..=2 {
            let body = json!({
                "scheduledTime": format!("{}T09:30:00Z", sample::tomorrow()),
                "data": {"amount": "12.50", "to": format!("Payee{number}")},
            });
            let call = Call::post("/bank/accounts/Account3/payments", body).key(format!("demo-{number}"));
            let what = ["Schedule a payment", "Schedule another in the same second"][number - 1];
            let reply = self.step(Step { pattern: "B1", what, call, status: StatusCode::CREATED }).await?;
            let id = reply.body["paymentId"].as_str().unwrap_or_default().to_owned();
            check(!id.is_empty() && !ids.contains(&id), "each payment has an id of its own")?;
            ids.push(id);
        }
        match <[String; 2]>::try_from(ids) {
            Ok([first, second]) => Ok((first, second)),
            Err(_) => Err(CliError::Failed("two payments were expected".to_owned())),
        }
    }

    async fn payments(&self, first: &str, second: &str) -> Result<(), CliError> {
        let reply = self.get("B2", "An account's next 90 days", "/bank/accounts/Account3/payments").await?;
        check(ids(&reply, "paymentId") == sorted(&[first, second]), "both payments are the account's")?;
        let due = format!("/bank/payments/due?date={}", sample::tomorrow());
        let reply = self.get("B3", "What comes due tomorrow, over every account", &due).await?;
        let listed = ids(&reply, "paymentId");
        check(listed.len() == 3 && listed.iter().any(|id| id == first), "the due list has them and the sample's")
    }

    async fn moves(&self, payment: &str) -> Result<(), CliError> {
        let path = format!("/bank/accounts/Account3/payments/{payment}");
        for (what, body) in [
            ("The batch takes it up", json!({"status": "PENDING"})),
            ("It is paid", json!({"status": "PROCESSED", "transactionId": TRANSACTION})),
        ] {
            let call = Call::patch(&path, body.clone());
            let reply = self.step(Step { pattern: "B4", what, call, status: StatusCode::OK }).await?;
            check(reply.body["status"] == body["status"], "the payment has the new status")?;
        }
        let call = Call::post(
            "/_local/functions/archive-processed-payments/invocations",
            json!({"date": sample::tomorrow().to_string()}),
        );
        let what = "The end of the day: what was processed goes to the history";
        let reply = self.step(Step { pattern: "B5", what, call, status: StatusCode::OK }).await?;
        check(!reply.headers.contains_key("x-amz-function-error"), "the archive ran")
    }

    async fn history(&self, payment: &str) -> Result<(), CliError> {
        let path = "/bank/accounts/Account3/transactions";
        let reply = self.get("B6", "The account's transactions", path).await?;
        check(ids(&reply, "paymentId") == [payment], "the archived payment is the account's transaction")?;
        let path = format!("/bank/transactions?date={}&status=PROCESSED", sample::tomorrow());
        let reply = self.get("B7", "The day's transactions, over every account", &path).await?;
        let both = sorted(&[TRANSACTION, sample::TRANSACTION]);
        check(ids(&reply, "transactionId") == both, "the day has this transaction and the sample's")?;
        let path = format!("/bank/transactions/{TRANSACTION}");
        let reply = self.get("B8", "One transaction by its id", &path).await?;
        check(reply.body["paymentId"] == payment, "the transaction names its payment")
    }

    async fn get_payment(&self, payment: &str) -> Result<(), CliError> {
        let path = format!("/bank/accounts/Account3/payments/{payment}");
        let reply = self.get("B9", "One payment", &path).await?;
        check(reply.body["paymentId"] == payment, "the payment is the one asked for")
    }

    async fn get(&self, pattern: &'static str, what: &'static str, path: &str) -> Result<Reply, CliError> {
        self.step(Step { pattern, what, call: Call::get(path), status: StatusCode::OK }).await
    }

    async fn step(&self, step: Step) -> Result<Reply, CliError> {
        let reply = self.client.send(&step.call).await?;
        print(&step, &reply);
        check(reply.status == step.status, &format!("{} must answer {}", step.pattern, step.status))?;
        Ok(reply)
    }
}

fn print(step: &Step, reply: &Reply) {
    println!("{} {}", step.pattern, step.what);
    println!("  {} {}", step.call.method, step.call.path);
    if let Some(body) = &step.call.body {
        println!("  {body}");
    }
    for line in conditions(&reply.consumed) {
        println!("  {line}");
    }
    println!("  {}", reply.status);
    for line in shortened(&reply.body) {
        println!("    {line}");
    }
    for line in summary(&reply.consumed) {
        println!("  {line}");
    }
    println!();
}

/// The calls with their key conditions, each once.
fn conditions(consumed: &[Consumed]) -> Vec<String> {
    let calls = consumed.iter().map(|row| {
        let index = row.index.as_ref().map(|index| format!(" {index}")).unwrap_or_default();
        let condition = row.condition.as_ref().map(|condition| format!(": {condition}")).unwrap_or_default();
        format!("{} {}{index}{condition}", row.action, row.table)
    });
    let lines: Vec<_> = calls.unique().collect();
    with_rest(lines, MOST_CONDITIONS)
}

fn shortened(body: &Value) -> Vec<String> {
    with_rest(format!("{body:#}").lines().map(str::to_owned).collect(), LONGEST_ANSWER)
}

fn with_rest(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let rest = lines.len().saturating_sub(most);
    if rest > 0 {
        lines.truncate(most);
        lines.push(format!("… {rest} more"));
    }
    lines
}

fn ids(reply: &Reply, field: &str) -> Vec<String> {
    let items = reply.body["items"].as_array().into_iter().flatten();
    items.filter_map(|item| item[field].as_str()).map(str::to_owned).sorted().collect()
}

fn sorted(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).sorted().collect()
}

fn check(holds: bool, what: &str) -> Result<(), CliError> {
    if holds { Ok(()) } else { Err(CliError::Failed(format!("not as it should be: {what}"))) }
}
