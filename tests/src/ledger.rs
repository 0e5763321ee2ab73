//! Fixtures of the ledger tests: accounts with balances, and payments between them.

pub mod audit;
pub mod model;
pub mod totals;

use crate::{Answer, Client, clock::At, units::Consumed};
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::collections::HashMap;
use table::Usage;

/// The request path of transactions.
pub const TRANSACTIONS: &str = "/ledger/transactions";

/// The request path of batches of transactions.
pub const BATCH: &str = "/ledger/transactions/batch";

/// The request path of holds.
pub const HOLDS: &str = "/ledger/holds";

/// The stack of the ledger alone.
pub fn stack() -> Builder {
    crate::stack().stacks(["ledger"])
}

/// A ledger, an operator's client, and an external account that funds other accounts.
#[derive(Debug)]
pub struct Books {
    /// The local stack.
    pub stack: Stack,
    /// A client with the operator scope.
    pub operator: Client,
    /// An account in USD that allows a negative balance.
    pub outside: String,
}

impl Books {
    /// Starts a new stack.
    pub async fn open() -> Self {
        Self::of(stack().start().await.expect("a stack")).await
    }

    /// Opens a ledger on a running stack.
    pub async fn of(stack: Stack) -> Self {
        let operator = Client::operator(&stack);
        let terms = json!({"userId": "bank", "accountType": "external", "currency": "USD", "allowNegative": true});
        let outside = id(&operator.post("/ledger/accounts", &terms).await, "accountId");
        Self { stack, operator, outside }
    }

    /// Returns a client for `user` without the operator scope.
    pub fn user(&self, user: &str) -> Client {
        Client::member(&self.stack, "ledger:read ledger:write", "none", user)
    }

    /// Opens a checking account in USD with a balance of zero.
    pub async fn account(&self, user: &str) -> String {
        let terms = json!({"userId": user, "accountType": "checking", "currency": "USD"});
        id(&self.operator.post("/ledger/accounts", &terms).await, "accountId")
    }

    /// Opens a checking account in USD and funds it.
    pub async fn funded(&self, user: &str, amount: &str) -> String {
        let account = self.account(user).await;
        let answer = self.pay(&format!("fund-{account}"), &self.outside, &account, amount).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        account
    }

    /// Posts a payment in USD as the operator.
    pub async fn pay(&self, key: &str, debit: &str, credit: &str, amount: &str) -> Answer {
        self.operator.post_once(TRANSACTIONS, key, &payment(debit, credit, amount)).await
    }

    /// Opens a hold in USD as the operator.
    pub async fn hold(&self, key: &str, debit: &str, credit: &str, amount: &str) -> Answer {
        self.operator.post_once(HOLDS, key, &hold(debit, credit, amount)).await
    }

    /// Reads the balance of the account.
    pub async fn balance(&self, account: &str) -> String {
        let answer = self.operator.get(&format!("/ledger/accounts/{account}")).await;
        answer.body["balance"].as_str().expect("a balance").to_owned()
    }
}

/// Returns the request body of a payment in USD.
pub fn payment(debit: &str, credit: &str, amount: &str) -> Value {
    json!({"transactionType": "payment", "debitAccountId": debit, "creditAccountId": credit, "amount": amount, "currency": "USD"})
}

/// Returns the request body of a batch of transactions with these idempotency keys.
pub fn batch<'a>(transactions: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let keyed = |(key, mut body): (&str, Value)| {
        body["idempotencyKey"] = key.into();
        body
    };
    json!({"transactions": transactions.into_iter().map(keyed).collect::<Vec<_>>()})
}

/// Returns the request body of a hold in USD.
pub fn hold(debit: &str, credit: &str, amount: &str) -> Value {
    json!({"debitAccountId": debit, "creditAccountId": credit, "amount": amount, "currency": "USD"})
}

/// Returns the id in the response to a create request.
pub fn id(answer: &Answer, member: &str) -> String {
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body[member].as_str().expect("an id").to_owned()
}

impl Books {
    /// Returns an operator's client that sends every request at the time `now`.
    pub fn at(&self, now: Timestamp) -> At<'_> {
        At::new(&self.stack, &self.operator, now)
    }

    /// Opens an account for the user `bank`. The account allows a negative balance.
    pub async fn source(&self, currency: &str) -> String {
        let terms = json!({"userId": "bank", "accountType": "external", "currency": currency, "allowNegative": true});
        id(&self.operator.post(ACCOUNTS, &terms).await, "accountId")
    }

    /// Reads a partition of the table or of an index directly from DynamoDB.
    pub async fn partition(&self, index: Option<&str>, partition: &str) -> Vec<Item> {
        let query = self.stack.client().expect("a client").query();
        let query = query.table_name(self.table()).set_index_name(index.map(str::to_owned));
        let query = query.key_condition_expression("#p = :p").expression_attribute_names("#p", key_of(index));
        let query = query.expression_attribute_values(":p", AttributeValue::S(partition.to_owned()));
        query.into_paginator().items().send().collect::<Result<_, _>>().await.expect("items")
    }

    /// Reads all items of the ledger's table directly from DynamoDB.
    pub async fn stored(&self) -> Vec<Item> {
        let scan = self.stack.client().expect("a client").scan().table_name(self.table()).consistent_read(true);
        scan.into_paginator().items().send().collect::<Result<_, _>>().await.expect("items")
    }

    /// Returns the name of the ledger's table.
    pub fn table(&self) -> &str {
        self.stack.table("FinancialTransactions").expect("a table")
    }
}

fn key_of(index: Option<&str>) -> String {
    format!("{}PK", index.unwrap_or_default())
}

/// Configures a stack with the given numbers of write shards and read shards of the status index.
pub fn status_shards(write: u16, read: u16) -> Builder {
    stack().parameter("StatusWriteShards", write.to_string()).parameter("StatusReadShards", read.to_string())
}

/// A DynamoDB item.
pub type Item = HashMap<String, AttributeValue>;

/// The request path of accounts.
pub const ACCOUNTS: &str = "/ledger/accounts";
/// The request path of merchants.
pub const MERCHANTS: &str = "/ledger/merchants";

/// Returns the request body of a transaction. Each leg is a tuple of type (debit or credit),
/// account, amount and currency.
pub fn legs<'a>(legs: impl IntoIterator<Item = (&'a str, &'a str, &'a str, &'a str)>) -> Value {
    let leg = |(kind, account, amount, currency)| {
        let mut leg = json!({"accountId": account, "legType": kind});
        (leg["amount"], leg["currency"]) = (Value::from(amount), Value::from(currency));
        leg
    };
    json!({"legs": legs.into_iter().map(leg).collect::<Vec<_>>()})
}

/// The input of the cost formulas for items without size. The totals have their four shards.
pub const NOTHING: ::ledger::Case = ::ledger::Case {
    account: 0,
    of_user: 0,
    transaction: 0,
    of_status: 0,
    leg: 0,
    of_account: 0,
    reversals: 0,
    inbox: 0,
    hold: 0,
    of_hold: 0,
    legs: 0,
    items: 0,
    total: 0,
    totals: 0,
    shards: 4,
    merchant: false,
};

/// Returns the units that an invocation consumed, in the same form as [`crate::units::consumed`].
pub fn used(usage: &Usage) -> Consumed {
    let mut sums = Consumed::new();
    for call in &usage.calls {
        let table = call.table.rsplit('-').next().unwrap_or(&call.table).to_owned();
        let place = call.index.as_ref().map_or_else(|| table.clone(), |index| format!("{table}/{index}"));
        let sum = sums.entry(place).or_default();
        *sum = (sum.0 + call.read, sum.1 + call.write);
    }
    sums
}
