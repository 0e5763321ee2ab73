//! Accounts with money in them, and payments between them.

pub mod audit;
pub mod model;

use crate::{Answer, Client, clock::At, stack};
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Where transactions are posted.
pub const TRANSACTIONS: &str = "/ledger/transactions";

/// A ledger, its operator, and an account outside from which its money comes.
#[derive(Debug)]
pub struct Books {
    /// The stack.
    pub stack: Stack,
    /// Who may do everything.
    pub operator: Client,
    /// An account in USD that may hold less than nothing.
    pub outside: String,
}

impl Books {
    /// Of a stack of their own.
    pub async fn open() -> Self {
        Self::of(stack().start().await.expect("a stack")).await
    }

    /// Of that stack.
    pub async fn of(stack: Stack) -> Self {
        let operator = Client::operator(&stack);
        let terms = json!({"userId": "bank", "accountType": "external", "currency": "USD", "allowNegative": true});
        let outside = id(&operator.post("/ledger/accounts", &terms).await, "accountId");
        Self { stack, operator, outside }
    }

    /// A user of the ledger who is no operator.
    #[must_use]
    pub fn user(&self, user: &str) -> Client {
        Client::member(&self.stack, "ledger:read ledger:write", "none", user)
    }

    /// A checking account in USD of the user, empty.
    pub async fn account(&self, user: &str) -> String {
        let terms = json!({"userId": user, "accountType": "checking", "currency": "USD"});
        id(&self.operator.post("/ledger/accounts", &terms).await, "accountId")
    }

    /// A checking account in USD of the user that holds so much.
    pub async fn funded(&self, user: &str, amount: &str) -> String {
        let account = self.account(user).await;
        let answer = self.pay(&format!("fund-{account}"), &self.outside, &account, amount).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        account
    }

    /// A payment in USD by the operator.
    pub async fn pay(&self, key: &str, debit: &str, credit: &str, amount: &str) -> Answer {
        self.operator.post_once(TRANSACTIONS, key, &payment(debit, credit, amount)).await
    }

    /// What the account holds.
    pub async fn balance(&self, account: &str) -> String {
        let answer = self.operator.get(&format!("/ledger/accounts/{account}")).await;
        answer.body["balance"].as_str().expect("a balance").to_owned()
    }
}

/// The body of a payment in USD.
#[must_use]
pub fn payment(debit: &str, credit: &str, amount: &str) -> Value {
    json!({"transactionType": "payment", "debitAccountId": debit, "creditAccountId": credit, "amount": amount, "currency": "USD"})
}

/// The id in an answer to what was created.
#[must_use]
pub fn id(answer: &Answer, member: &str) -> String {
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body[member].as_str().expect("an id").to_owned()
}

impl Books {
    /// The operator at a time.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> At<'_> {
        At::new(&self.stack, &self.operator, now)
    }

    /// An account of the books' bank that may hold less than nothing, in that currency.
    pub async fn source(&self, currency: &str) -> String {
        let terms = json!({"userId": "bank", "accountType": "external", "currency": currency, "allowNegative": true});
        id(&self.operator.post(ACCOUNTS, &terms).await, "accountId")
    }

    /// The items of a partition, past the functions: of the table, or of the index.
    pub async fn partition(&self, index: Option<&str>, partition: &str) -> Vec<Item> {
        let query = self.stack.client().expect("a client").query();
        let query = query.table_name(self.table()).set_index_name(index.map(str::to_owned));
        let query = query.key_condition_expression("#p = :p").expression_attribute_names("#p", key_of(index));
        let query = query.expression_attribute_values(":p", AttributeValue::S(partition.to_owned()));
        query.into_paginator().items().send().collect::<Result<_, _>>().await.expect("items")
    }

    /// Everything that the ledger's table holds, past the functions.
    pub async fn stored(&self) -> Vec<Item> {
        let scan = self.stack.client().expect("a client").scan().table_name(self.table()).consistent_read(true);
        scan.into_paginator().items().send().collect::<Result<_, _>>().await.expect("items")
    }

    /// The name of the ledger's table.
    #[must_use]
    pub fn table(&self) -> &str {
        self.stack.table("FinancialTransactions").expect("a table")
    }
}

fn key_of(index: Option<&str>) -> String {
    format!("{}PK", index.unwrap_or_default())
}

/// A stack whose status index has so many shards to write and to read.
#[must_use]
pub fn status_shards(write: u16, read: u16) -> Builder {
    stack().parameter("StatusWriteShards", write.to_string()).parameter("StatusReadShards", read.to_string())
}

/// An item as DynamoDB has it.
pub type Item = HashMap<String, AttributeValue>;

/// Where accounts are opened.
pub const ACCOUNTS: &str = "/ledger/accounts";
/// Where merchants are put on record.
pub const MERCHANTS: &str = "/ledger/merchants";

/// Any legs, each `(debit or credit, account, amount, currency)`.
#[must_use]
pub fn legs<'a>(legs: impl IntoIterator<Item = (&'a str, &'a str, &'a str, &'a str)>) -> Value {
    let leg = |(kind, account, amount, currency)| {
        let mut leg = json!({"accountId": account, "legType": kind});
        (leg["amount"], leg["currency"]) = (Value::from(amount), Value::from(currency));
        leg
    };
    json!({"legs": legs.into_iter().map(leg).collect::<Vec<_>>()})
}
