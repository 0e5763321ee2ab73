//! Demo of the ledger: accounts, idempotent payments, statements, a reversal and a reconciliation.
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
        self.freeze(&savings).await?;
        self.reconcile().await
    }

    async fn merchants(&self, books: &Books) -> Result<(), CliError> {
        let bakery = json!({"name": "Bakery Ltd", "category": "Restaurant"});
        self.post("L1", "Put a merchant on record", "/ledger/merchants", bakery).await?;
        let reply = self.get("L1", "A merchant by its id", &format!("/ledger/merchants/{}", books.merchant)).await?;
        check(reply.body["name"] == "Coffee Shop Inc", "it is the seed's")
    }

    async fn open_accounts(&self, books: &Books) -> Result<String, CliError> {
        let terms = json!({"userId": "ann", "accountType": "savings", "currency": "USD"});
        let savings =
            text(&self.post("L2", "Open a savings account for Ann", ACCOUNTS, terms).await?.body, "accountId");
        let reply = self.get("L2", "Her checking account", &format!("{ACCOUNTS}/{}", books.ann)).await?;
        check(reply.body["balance"] == "1494.50", "1500.00 without a coffee")?;
        let reply = self.get("L2", "All accounts of hers, each as it is now", "/ledger/users/ann/accounts").await?;
        check(items(&reply) == 2, "she has two")?;
        Ok(savings)
    }

    async fn spend(&self, books: &Books, savings: &str) -> Result<String, CliError> {
        let mut body = payment("payment", &books.ann, &books.shop, "5.50");
        (body["merchantId"], body["description"]) = (json!(books.merchant), json!("Coffee purchase"));
        let mut coffee = String::new();
        let what = "Another coffee: header, two legs and two balances in one transaction";
        for what in [what, "Send it again: the same answer, and paid once"] {
            let reply = self.pay(what, "demo-coffee", body.clone(), StatusCode::CREATED).await?;
            check(reply.body["legs"][0]["balanceAfter"] == "1489.00", "it was paid once")?;
            coffee = text(&reply.body, "transactionId");
        }
        let too_much = payment("payment", &books.ann, &books.shop, "1489.01");
        self.pay(
            "A cent more than there is: refused, and nothing is written",
            "demo-much",
            too_much,
            StatusCode::CONFLICT,
        )
        .await?;
        let leg = |account: &str, kind: &str, amount: &str| json!({"accountId": account, "legType": kind, "amount": amount, "currency": "USD"});
        let legs = [leg(&books.ann, "debit", "100"), leg(savings, "credit", "98"), leg(&books.shop, "credit", "2")];
        self.pay("Three legs, whose debits and credits agree", "demo-legs", json!({"legs": legs}), StatusCode::CREATED)
            .await?;
        Ok(coffee)
    }

    async fn pay(&self, what: &'static str, key: &str, body: Value, status: StatusCode) -> Result<Reply, CliError> {
        self.step(Step { pattern: "L3", what, call: Call::post(TRANSACTIONS, body).key(key), status }).await
    }

    async fn books_by(&self, books: &Books, coffee: &str) -> Result<(), CliError> {
        self.get("L4", "The coffee with its legs, in one query", &format!("{TRANSACTIONS}/{coffee}")).await?;
        let reply = self.get("L5", "What was paid in the last 24 hours", TRANSACTIONS).await?;
        check(items(&reply) == 4, "a deposit, two coffees, and the three legs")?;
        let path = format!("{TRANSACTIONS}?idempotencyKey=abc123def456");
        let reply = self.get("L5", "What came of the seed's key", &path).await?;
        check(items(&reply) == 1, "one transaction")?;
        let path = format!("{ACCOUNTS}/{}/statement", books.ann);
        let reply = self.get("L7", "Ann's statement, newest first, with running balances", &path).await?;
        check(reply.body["items"][0]["balanceAfter"] == "1389.00", "it is what she holds")
    }

    async fn give_back(&self, books: &Books, coffee: &str) -> Result<(), CliError> {
        let call = Call { body: None, ..Call::post(format!("{TRANSACTIONS}/{coffee}/reversal"), Value::Null) };
        let what = "Give the coffee back: history stays, and the contrary is posted";
        self.step(Step { pattern: "L6", what, call, status: StatusCode::CREATED }).await?;
        let reply = self.get("L2", "What Ann has by then", &format!("{ACCOUNTS}/{}", books.ann)).await?;
        check(reply.body["balance"] == "1394.50", "the coffee's price is back")
    }

    async fn freeze(&self, savings: &str) -> Result<(), CliError> {
        let path = format!("{ACCOUNTS}/{savings}");
        let reply = self.patch("L9", "Freeze the savings", &path, json!({"status": "frozen"})).await?;
        check(reply.body["status"] == "frozen", "it takes nothing")
    }

    /// Checks all accounts, and the transactions of the last 24 hours except the most recent ones.
    async fn reconcile(&self) -> Result<(), CliError> {
        let now = Timestamp::now();
        let window = json!({"from": now - SignedDuration::from_hours(24), "to": now});
        let call = Call::post("/ledger/reconciliations", window).key("demo-books");
        let what = "Check the books: a job, which the stream of its table continues";
        let reply = self.step(Step { pattern: "L8", what, call, status: StatusCode::ACCEPTED }).await?;
        let path = format!("/ledger/reconciliations/{}", text(&reply.body, "reconciliationId"));
        self.wait(&path, |body| body["status"] == "done").await?;
        let reply = self.get("L8", "What does not agree", &path).await?;
        check(reply.body["status"] == "done" && reply.body["discrepancies"] == json!([]), "the books agree")?;
        let call = Call { body: None, ..Call::post(format!("{path}/retry"), Value::Null) };
        let what = "Only a failed reconciliation can be run again";
        self.step(Step { pattern: "L8", what, call, status: StatusCode::CONFLICT }).await?;
        self.handed_on("L8", "What the stream of the jobs has handed on", "reconcile").await
    }
}

fn items(reply: &Reply) -> usize {
    reply.body["items"].as_array().map_or(0, Vec::len)
}
