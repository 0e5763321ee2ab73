//! Demo of the ledger: accounts, payments, batches, holds, statements, reversals, totals and a
//! reconciliation.

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{CliError, Guide, Step, check, text};
use crate::{
    client::{Call, Reply},
    sample::ledger::{Books, payment},
};

const ACCOUNTS: &str = "/ledger/accounts";
const TRANSACTIONS: &str = "/ledger/transactions";

impl Guide {
    pub(super) async fn ledger(&self, books: &Books) -> Result<(), CliError> {
        self.merchants(books).await?;
        let savings = self.open_accounts(books).await?;
        let coffee = self.spend(books, &savings).await?;
        self.books_by(books, &coffee).await?;
        self.give_back(books, &coffee).await?;
        self.totals(books).await?;
        self.batch(books).await?;
        self.hold(books).await?;
        self.grouped(books).await?;
        self.freeze(&savings).await?;
        self.reconcile().await
    }

    async fn merchants(&self, books: &Books) -> Result<(), CliError> {
        let bakery = json!({"name": "Bakery Ltd", "category": "Restaurant"});
        self.post("Create a merchant", "/ledger/merchants", bakery).await?;
        let reply = self.get("List the merchants", "/ledger/merchants").await?;
        check(items(&reply) == 2, "the list must have the sample merchant and the bakery")?;
        let reply = self.get("Get a merchant by its id", &format!("/ledger/merchants/{}", books.merchant)).await?;
        check(reply.body["name"] == "Coffee Shop Inc", "the merchant must be the sample merchant")
    }

    async fn open_accounts(&self, books: &Books) -> Result<String, CliError> {
        let terms = json!({"userId": "ann", "accountType": "savings", "currency": "USD"});
        let savings = text(&self.post("Open a savings account for Ann", ACCOUNTS, terms).await?.body, "accountId");
        let reply = self.get("Get her checking account", &format!("{ACCOUNTS}/{}", books.ann)).await?;
        check(reply.body["balance"] == "1489.50", "the balance must be 1500.00 less a coffee and a payment")?;
        let reply = self.get("List her accounts with their current balances", "/ledger/users/ann/accounts").await?;
        check(items(&reply) == 2, "she must have two accounts")?;
        Ok(savings)
    }

    async fn spend(&self, books: &Books, savings: &str) -> Result<String, CliError> {
        let mut body = payment("payment", &books.ann, &books.shop, "5.50");
        (body["merchantId"], body["description"]) = (json!(books.merchant), json!("Coffee purchase"));
        let mut coffee = String::new();
        let what = "Pay for a coffee: one transaction writes the header, two legs and two balances";
        for what in [what, "Retry the request: the response is the same, and no second payment is posted"] {
            let reply = self.pay(what, "demo-coffee", body.clone(), StatusCode::CREATED).await?;
            check(reply.body["legs"][0]["balanceAfter"] == "1484.00", "the payment must be posted once")?;
            coffee = text(&reply.body, "transactionId");
        }
        let too_much = payment("payment", &books.ann, &books.shop, "1484.01");
        self.pay(
            "Pay a cent more than the balance: the request is rejected",
            "demo-much",
            too_much,
            StatusCode::CONFLICT,
        )
        .await?;
        let leg = |account: &str, kind: &str, amount: &str| json!({"accountId": account, "legType": kind, "amount": amount, "currency": "USD"});
        let legs = [leg(&books.ann, "debit", "100"), leg(savings, "credit", "98"), leg(&books.shop, "credit", "2")];
        self.pay(
            "Post three legs with equal debits and credits",
            "demo-legs",
            json!({"legs": legs}),
            StatusCode::CREATED,
        )
        .await?;
        Ok(coffee)
    }

    async fn pay(&self, what: &'static str, key: &str, body: Value, status: StatusCode) -> Result<Reply, CliError> {
        self.step(Step { what, call: Call::post(TRANSACTIONS, body).key(key), status }).await
    }

    async fn books_by(&self, books: &Books, coffee: &str) -> Result<(), CliError> {
        self.get("Get the coffee payment with its legs, in one query", &format!("{TRANSACTIONS}/{coffee}")).await?;
        let reply = self.get("List the transactions of the last 24 hours", TRANSACTIONS).await?;
        check(items(&reply) == 5, "the list must have a deposit, two coffees, a payment and the three legs")?;
        let path = format!("{TRANSACTIONS}?idempotencyKey=abc123def456");
        let reply = self.get("Find the transaction of an idempotency key", &path).await?;
        check(items(&reply) == 1, "the key must have one transaction")?;
        let path = format!("{ACCOUNTS}/{}/statement", books.ann);
        let reply = self.get("List Ann's statement, newest first, with running balances", &path).await?;
        check(reply.body["items"][0]["balanceAfter"] == "1384.00", "the newest running balance must be her balance")?;
        let path = format!("{ACCOUNTS}/{}/balance?at=2020-01-01T00:00:00Z", books.ann);
        let reply = self.get("Get her balance at a time before her first transaction", &path).await?;
        check(reply.body["balance"] == "0.00", "the balance must be zero")
    }

    async fn give_back(&self, books: &Books, coffee: &str) -> Result<(), CliError> {
        let path = format!("{TRANSACTIONS}/{coffee}/reversal");
        let call = Call::post(path.clone(), json!({"amount": "1.50"})).key("demo-refund");
        let what = "Refund a part of the coffee payment";
        self.step(Step { what, call, status: StatusCode::CREATED }).await?;
        let call = Call { body: None, ..Call::post(path, Value::Null) };
        let what = "Reverse the rest of the coffee payment: another transaction is posted";
        self.step(Step { what, call, status: StatusCode::CREATED }).await?;
        let reply = self.get("Get Ann's account after the reversal", &format!("{ACCOUNTS}/{}", books.ann)).await?;
        check(reply.body["balance"] == "1389.50", "the balance must include the price of the coffee")
    }

    async fn totals(&self, books: &Books) -> Result<(), CliError> {
        self.handed_on("Transactions in the stream", "react-to-transactions").await?;
        let path = format!("/ledger/merchants/{}/totals", books.merchant);
        let reply = self.get("Get today's totals of the coffee shop", &path).await?;
        check(items(&reply) > 0, "the shop must have totals of payments")?;
        let what = "Get the trial balance: debits, credits and balances by account type and currency";
        let reply = self.get(what, "/ledger/trial-balance").await?;
        check(items(&reply) > 0, "the trial balance must have items")
    }

    async fn batch(&self, books: &Books) -> Result<(), CliError> {
        let keyed = |amount: &str| {
            let mut body = payment("payment", &books.shop, &books.outside, amount);
            body["idempotencyKey"] = json!(format!("demo-batch {amount}"));
            body
        };
        let call = Call::post("/ledger/transactions/batch", json!({"transactions": [keyed("0.10"), keyed("9999.00")]}));
        let what = "Post a batch of two payments: the second one is rejected";
        let reply = self.step(Step { what, call, status: StatusCode::OK }).await?;
        let statuses = [0, 1].map(|number| reply.body["results"][number]["status"].clone());
        check(statuses == [json!(201), json!(409)], "only the first payment must be posted")
    }

    async fn hold(&self, books: &Books) -> Result<(), CliError> {
        let terms =
            json!({"debitAccountId": books.ann, "creditAccountId": books.shop, "amount": "50", "currency": "USD"});
        let call = Call::post("/ledger/holds", terms).key("demo-hold");
        let step = Step { what: "Reserve an amount on Ann's account", call, status: StatusCode::CREATED };
        let path = format!("/ledger/holds/{}", text(&self.step(step).await?.body, "holdId"));
        let call = Call::post(format!("{path}/capture"), json!({"amount": "20"})).key("demo-capture");
        let what = "Capture a part of the hold: a transaction is posted";
        self.step(Step { what, call, status: StatusCode::CREATED }).await?;
        let reply = self.get("Get the hold", &path).await?;
        check(reply.body["remaining"] == "30.00", "the rest must still be reserved")?;
        let call = Call { body: None, ..Call::post(format!("{path}/void"), Value::Null) };
        self.step(Step { what: "Void the hold: the rest is available again", call, status: StatusCode::OK }).await?;
        let call = Call::post("/_local/functions/release-expired-holds/invocations", json!({}));
        let what = "Schedule: release the expired holds";
        let reply = self.step(Step { what, call, status: StatusCode::OK }).await?;
        check(reply.body["left"] == false, "no expired hold must be left")
    }

    async fn grouped(&self, books: &Books) -> Result<(), CliError> {
        let terms = json!({"userId": "market", "accountType": "merchant", "currency": "USD", "posting": "grouped"});
        let what = "Open an account with grouped posting: payments do not update it";
        let market = text(&self.post(what, ACCOUNTS, terms).await?.body, "accountId");
        let body = payment("payment", &books.ann, &market, "1");
        let what = "Pay into it: the credit has no balance yet";
        let reply = self.pay(what, "demo-market", body, StatusCode::CREATED).await?;
        check(reply.body["legs"][1].get("balanceAfter").is_none(), "the credit must wait in the inbox")?;
        let path = format!("{ACCOUNTS}/{market}");
        self.wait(&path, |body| body["pending"] == "0.00").await?;
        let reply = self.get("Get the account after its settlement", &path).await?;
        check(reply.body["balance"] == "1.00", "the credit must be posted")?;
        self.handed_on("Credits of the inbox", "settle-account").await
    }

    async fn freeze(&self, savings: &str) -> Result<(), CliError> {
        let path = format!("{ACCOUNTS}/{savings}");
        let reply = self.patch("Freeze the savings account", &path, json!({"status": "frozen"})).await?;
        check(reply.body["status"] == "frozen", "the account must be frozen")
    }

    /// Starts a reconciliation of all accounts and of the transactions of the last 24 hours. The
    /// most recent transactions are not checked.
    async fn reconcile(&self) -> Result<(), CliError> {
        let now = Timestamp::now();
        let window = json!({"from": now - SignedDuration::from_hours(24), "to": now});
        let call = Call::post("/ledger/reconciliations", window).key("demo-books");
        let what = "Start a reconciliation: a job that runs from the stream of its table";
        let reply = self.step(Step { what, call, status: StatusCode::ACCEPTED }).await?;
        let path = format!("/ledger/reconciliations/{}", text(&reply.body, "reconciliationId"));
        self.wait(&path, |body| body["status"] == "done").await?;
        let reply = self.get("Get the discrepancies", &path).await?;
        check(
            reply.body["status"] == "done" && reply.body["discrepancies"] == json!([]),
            "there must be no discrepancies",
        )?;
        let call = Call { body: None, ..Call::post(format!("{path}/retry"), Value::Null) };
        let what = "Retry the reconciliation: rejected, because the reconciliation has not failed";
        self.step(Step { what, call, status: StatusCode::CONFLICT }).await?;
        let call = Call::post("/_local/functions/start-daily-reconciliation/invocations", json!({}));
        let what = "Nightly schedule: start the reconciliation of the previous day";
        let reply = self.step(Step { what, call, status: StatusCode::OK }).await?;
        check(reply.body["reconciliationId"].is_string(), "the reconciliation of the previous day must start")?;
        self.handed_on("Progress of the job stream", "reconcile").await
    }
}

fn items(reply: &Reply) -> usize {
    reply.body["items"].as_array().map_or(0, Vec::len)
}
