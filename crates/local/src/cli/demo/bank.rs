//! Demo of the bank: schedules payments, executes one, archives one, and closes the day.
use http::StatusCode;
use itertools::Itertools;
use jiff::ToSpan;
use serde_json::{Value, json};

use super::{CliError, Guide, Step, check};
use crate::{
    client::{Call, Reply},
    sample::{self, TRANSACTION as SAMPLE_TRANSACTION, ledger::Books},
};

const TRANSACTION: &str = "demo-transaction-1";

impl Guide {
    pub(super) async fn bank(&self, books: &Books) -> Result<(), CliError> {
        let (first, second) = self.schedule().await?;
        self.payments(&first, &second).await?;
        self.moves(&first).await?;
        self.dispatch(books).await?;
        self.import().await?;
        self.history(&first).await?;
        self.get_payment(&second).await?;
        self.retry(&second).await?;
        self.close(books).await
    }

    async fn schedule(&self) -> Result<(String, String), CliError> {
        let mut ids = Vec::new();
        for number in 1..=2 {
            let body = json!({
                "scheduledTime": format!("{}T09:30:00Z", sample::tomorrow()),
                "data": {"amount": "12.50", "to": format!("Payee{number}")},
            });
            let call = Call::post("/bank/accounts/Account3/payments", body).key(format!("demo-{number}"));
            let what = ["Schedule a payment", "Schedule another payment in the same second"][number - 1];
            let reply = self.step(Step { what, call, status: StatusCode::CREATED }).await?;
            let id = reply.body["paymentId"].as_str().unwrap_or_default().to_owned();
            check(!id.is_empty() && !ids.contains(&id), "payment ids must be unique")?;
            ids.push(id);
        }
        match <[String; 2]>::try_from(ids) {
            Ok([first, second]) => Ok((first, second)),
            Err(_) => Err(CliError::Failed("two payments were expected".to_owned())),
        }
    }

    async fn payments(&self, first: &str, second: &str) -> Result<(), CliError> {
        let reply = self.get("List the next 90 days of an account", "/bank/accounts/Account3/payments").await?;
        check(ids(&reply, "paymentId") == sorted(&[first, second]), "the list must have both payments")?;
        let due = format!("/bank/payments/due?date={}", sample::tomorrow());
        let reply = self.get("List the payments of all accounts that are due tomorrow", &due).await?;
        let listed = ids(&reply, "paymentId");
        check(
            listed.len() == 3 && listed.iter().any(|id| id == first),
            "the list must have both payments and the sample payment",
        )
    }

    async fn moves(&self, payment: &str) -> Result<(), CliError> {
        let path = format!("/bank/accounts/Account3/payments/{payment}");
        for (what, body) in [
            ("Change the status to PENDING, as the batch job does", json!({"status": "PENDING"})),
            ("Change the status to PROCESSED", json!({"status": "PROCESSED", "transactionId": TRANSACTION})),
        ] {
            let reply = self.patch(what, &path, body.clone()).await?;
            check(reply.body["status"] == body["status"], "the payment must have the new status")?;
        }
        let call = Call::post(
            "/_local/functions/archive-settled-payments/invocations",
            json!({"date": sample::tomorrow().to_string()}),
        );
        let what = "Archive the settled payments of the day";
        let reply = self.step(Step { what, call, status: StatusCode::OK }).await?;
        check(!reply.headers.contains_key("x-amz-function-error"), "the archive must run")
    }

    async fn dispatch(&self, books: &Books) -> Result<(), CliError> {
        let today = sample::tomorrow().saturating_sub(1.day());
        let data = json!({"creditAccountId": books.shop, "amount": "5.00", "currency": "USD"});
        let body = json!({"scheduledTime": format!("{today}T00:00:00Z"), "data": data});
        let call = Call::post(format!("/bank/accounts/{}/payments", books.ann), body).key("demo-due");
        let what = "Schedule a payment from Ann's account in the ledger for now";
        let due = self.step(Step { what, call, status: StatusCode::CREATED }).await?;
        let what = "Dispatch the due payments, as the schedule does every two minutes";
        let call = Call::post("/_local/functions/dispatch-due-payments/invocations", json!({}));
        let reply = self.step(Step { what, call, status: StatusCode::OK }).await?;
        check(reply.body["claimed"] == 1, "the dispatch must claim one payment")?;
        self.handed_on("Progress of the stream that executes the payment", "execute-payment").await?;
        let id = due.body["paymentId"].as_str().unwrap_or_default();
        let what = "Get the payment, which has a transaction id";
        let reply = self.get(what, &format!("/bank/accounts/{}/payments/{id}", books.ann)).await?;
        check(reply.body["status"] == "PROCESSED", "the payment must be PROCESSED")?;
        let transaction = reply.body["transactionId"].as_str().unwrap_or_default();
        let path = format!("/ledger/transactions/{transaction}");
        let reply = self.get("Get the transaction from the ledger", &path).await?;
        check(reply.body["amount"] == "5.00", "the transaction must have the amount of the payment")?;
        let path = format!("/ledger/accounts/{}/statement", books.ann);
        let reply = self.get("List Ann's statement, which shows the payment", &path).await?;
        check(reply.body["items"][0]["balanceAfter"] == "1489.50", "the payment must have left Ann's account")?;
        for enabled in [false, true] {
            let what = if enabled { "Resume dispatching" } else { "Stop dispatching" };
            let call = Call::put("/bank/dispatching", json!({"enabled": enabled}));
            self.step(Step { what, call, status: StatusCode::OK }).await?;
            let reply = self.get("Get the dispatch switch", "/bank/dispatching").await?;
            check(reply.body["enabled"] == enabled, "the switch must have changed")?;
        }
        let call = Call { body: None, ..Call::post("/bank/dispatches", Value::Null) };
        let reply = self.step(Step { what: "Start a dispatch by hand", call, status: StatusCode::ACCEPTED }).await?;
        let job = format!("/bank/jobs/{}", reply.body["jobId"].as_str().unwrap_or_default());
        self.handed_on("Progress of the job stream", "continue-bank-job").await?;
        let reply = self.get("Get the job", &job).await?;
        check(reply.body["status"] == "done", "the job must be done")?;
        let call = Call { body: None, ..Call::post(format!("{job}/retry"), Value::Null) };
        let what = "Retry the job, which has not failed";
        self.step(Step { what, call, status: StatusCode::CONFLICT }).await.map(drop)
    }

    async fn import(&self) -> Result<(), CliError> {
        let line = |id: &str, amount: &str| {
            let time = format!("{}T09:30:00Z", sample::tomorrow().saturating_add(1.day()));
            let data = json!({"amount": amount, "currency": "USD"});
            json!({"id": id, "accountId": "Account3", "scheduledTime": time, "data": data}).to_string()
        };
        let file = [line("demo-file-1", "12.50"), line("demo-file-2", "0.50"), "nonsense".to_owned()].join("\n");
        self.upload("inbox/demo.jsonl", file, "import-payments").await?;
        self.wait("/bank/imports/demo", |import| import["status"] == "done").await?;
        let reply = self.get("Get the import", "/bank/imports/demo").await?;
        check(reply.body["scheduled"] == 2 && reply.body["rejected"] == 1, "the import must schedule two payments")?;
        let call = Call { body: None, ..Call::post("/bank/imports/demo/retry", Value::Null) };
        let what = "Retry the import, which has not failed";
        self.step(Step { what, call, status: StatusCode::CONFLICT }).await.map(drop)
    }

    async fn history(&self, payment: &str) -> Result<(), CliError> {
        let path = "/bank/accounts/Account3/transactions";
        let reply = self.get("List the transactions of an account", path).await?;
        check(ids(&reply, "paymentId") == [payment], "the history must have the archived payment")?;
        let path = format!("/bank/transactions?date={}&status=PROCESSED", sample::tomorrow());
        let reply = self.get("List the transactions of all accounts on a day", &path).await?;
        let both = sorted(&[TRANSACTION, SAMPLE_TRANSACTION]);
        check(ids(&reply, "transactionId") == both, "the list must have this transaction and the sample transaction")?;
        let path = format!("/bank/transactions/{TRANSACTION}");
        let reply = self.get("Find a transaction by its id", &path).await?;
        check(reply.body["paymentId"] == payment, "the transaction must have the payment id")
    }

    async fn retry(&self, payment: &str) -> Result<(), CliError> {
        let path = format!("/bank/accounts/Account3/payments/{payment}");
        for status in ["PENDING", "FAILED"] {
            self.client.send(&Call::patch(&path, json!({"status": status}))).await?;
        }
        let call = Call { body: None, ..Call::post(format!("{path}/retry"), Value::Null) };
        let reply = self.step(Step { what: "Retry a failed payment", call, status: StatusCode::CREATED }).await?;
        check(reply.body["retryOf"] == payment, "the retry must name the failed payment")?;
        self.get("List the overdue payments", "/bank/payments/overdue").await.map(drop)
    }

    async fn close(&self, books: &Books) -> Result<(), CliError> {
        let (today, tomorrow) = (sample::tomorrow().saturating_sub(1.day()), sample::tomorrow());
        let after = json!({"detail-type": "Scheduled Event", "time": format!("{tomorrow}T00:15:00Z")});
        let call = Call::post("/_local/functions/close-day/invocations", after);
        let what = "Close the day, as the schedule does after midnight";
        let reply = self.step(Step { what, call, status: StatusCode::OK }).await?;
        let job = format!("/bank/jobs/{}", reply.body["jobId"].as_str().unwrap_or_default());
        self.handed_on("Progress of the job stream", "continue-bank-job").await?;
        let reply = self.get("Get the job of the close", &job).await?;
        check(reply.body["status"] == "done", "the job must be done")?;
        let reply = self.get("Read the certificate of the day", &format!("/bank/days/{today}")).await?;
        check(reply.body["status"] == "closed", "the day must be closed")?;
        check(reply.body["counts"]["PROCESSED"] == 1, "the certificate must count Ann's payment")?;
        check(reply.body["ledger"]["totals"] == reply.body["totals"], "the ledger must have the same totals")?;
        let what = "Count the payments of a day that is not closed";
        let reply = self.get(what, &format!("/bank/days/{tomorrow}")).await?;
        check(reply.body["status"] == "open", "the day must be open")?;
        let yesterday = today.saturating_sub(1.day());
        let call = Call { body: None, ..Call::post(format!("/bank/days/{yesterday}/close"), Value::Null) };
        self.step(Step { what: "Close yesterday by hand", call, status: StatusCode::ACCEPTED }).await?;
        self.handed_on("Progress of the job stream", "continue-bank-job").await?;
        let path = format!("/bank/accounts/{}/transactions", books.ann);
        let reply = self.get("List Ann's transactions, which include the archived payment", &path).await?;
        check(ids(&reply, "transactionId").len() == 1, "the payment must be archived")
    }

    async fn get_payment(&self, payment: &str) -> Result<(), CliError> {
        let path = format!("/bank/accounts/Account3/payments/{payment}");
        let reply = self.get("Get a payment", &path).await?;
        check(reply.body["paymentId"] == payment, "the response must be the requested payment")
    }
}

fn ids(reply: &Reply, field: &str) -> Vec<String> {
    let items = reply.body["items"].as_array().into_iter().flatten();
    items.filter_map(|item| item[field].as_str()).map(str::to_owned).sorted().collect()
}

fn sorted(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).sorted().collect()
}
