//! Sample ledger from docs/requirements/ledger.md#transactions: a merchant, Ann's account with a
//! deposit of 1500.00, and her payment for a coffee.
use http::StatusCode;
use serde_json::{Value, json};

use super::{SampleError, expect};
use crate::client::{Call, Client};

const ACCOUNTS: &str = "/ledger/accounts";

/// Ids of the sample. Ids are derived from the caller and the idempotency key, so every load
/// returns the same ids.
#[derive(Debug, Clone)]
pub(crate) struct Books {
    /// The merchant.
    pub(crate) merchant: String,
    /// Source account of deposits. Its balance may be negative.
    pub(crate) outside: String,
    /// Ann's account.
    pub(crate) ann: String,
    /// The coffee shop's account.
    pub(crate) shop: String,
}

/// Creates the missing merchant, accounts and transactions.
pub(super) async fn load(client: &Client) -> Result<Books, SampleError> {
    let shop = json!({"name": "Coffee Shop Inc", "category": "Restaurant"});
    let merchant = make(client, "/ledger/merchants", "sample-merchant", shop, "merchantId").await?;
    let outside = account(client, "bank", "external", true).await?;
    let (ann, shop) =
        (account(client, "ann", "checking", false).await?, account(client, "coffee-shop", "checking", false).await?);
    let books = Books { merchant, outside, ann, shop };
    let deposit = payment("deposit", &books.outside, &books.ann, "1500.00");
    make(client, "/ledger/transactions", "sample-deposit", deposit, "transactionId").await?;
    let mut coffee = payment("payment", &books.ann, &books.shop, "5.50");
    (coffee["merchantId"], coffee["description"]) = (json!(books.merchant), json!("Coffee purchase"));
    make(client, "/ledger/transactions", "abc123def456", coffee, "transactionId").await?;
    Ok(books)
}

/// Request body of a payment in USD.
pub(crate) fn payment(kind: &str, debit: &str, credit: &str, amount: &str) -> Value {
    json!({
        "transactionType": kind,
        "debitAccountId": debit,
        "creditAccountId": credit,
        "amount": amount,
        "currency": "USD",
    })
}

async fn account(client: &Client, user: &str, kind: &str, allow_negative: bool) -> Result<String, SampleError> {
    let terms = json!({"userId": user, "accountType": kind, "currency": "USD", "allowNegative": allow_negative});
    make(client, ACCOUNTS, &format!("sample-{user}"), terms, "accountId").await
}

/// Creates an object with this idempotency key, unless the object exists, and returns its id.
async fn make(client: &Client, path: &str, key: &str, body: Value, id: &str) -> Result<String, SampleError> {
    let call = Call::post(path, body).key(key);
    let reply = expect(&call, client.send(&call).await?, &[StatusCode::CREATED])?;
    Ok(reply.body[id].as_str().unwrap_or_default().to_owned())
}
