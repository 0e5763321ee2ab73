//! The history is append-only ([decision](../../../../docs/decisions/ledger-history.md)). The
//! template does not permit any function to delete or replace items, and no function attempts
//! this. Mistakes are corrected by further transactions.

use local::template::{Lambda, Statement};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Client,
    faults::{Call, Twins},
    ledger::{ACCOUNTS, MERCHANTS, TRANSACTIONS, id, legs, payment, stack},
};

const TABLE: &str = "FinancialTransactions";
/// The partition keys of inbox items.
const INBOX: &str = "ACCOUNT#*#INBOX#*";
/// Permitted read actions.
const READS: [&str; 3] = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"];

/// Returns each policy statement that covers the ledger's table or indexes, with its function.
fn about_the_ledger(lambdas: &[Lambda]) -> Vec<(&str, &Statement)> {
    let pairs = lambdas.iter().flat_map(|lambda| lambda.statements.iter().map(|statement| (&*lambda.name, statement)));
    let about = |resource: &String| resource.contains(TABLE) || is_wide(resource);
    pairs.filter(|(_, statement)| statement.resources.iter().any(about)).collect()
}

/// Whether a resource covers more than one table or index.
fn is_wide(resource: &str) -> bool {
    resource == "*" || (resource.starts_with("arn:") && resource.contains(":dynamodb:") && resource.contains('*'))
}

#[tokio::test]
async fn no_function_may_delete_or_replace_history() {
    let stack = stack().start().await.expect("a stack");
    let statements = about_the_ledger(&stack.template().lambdas);
    assert!(statements.len() >= 16, "{}", statements.len());
    for (function, statement) in statements {
        let Statement { actions, resources, leading_keys } = statement;
        assert!(!resources.iter().any(|resource| is_wide(resource)), "{function}: {resources:?}");
        for action in actions {
            let keys: Vec<&str> = leading_keys.iter().map(String::as_str).collect();
            let right = match action.as_str() {
                "dynamodb:PutItem" => {
                    matches!(keys[..], ["TXN#*" | "MERCHANT#*" | "ACCOUNT#*" | "HOLD#*"] | ["TXN#*", INBOX])
                }
                // The settlement moves credits from the inbox to the postings.
                "dynamodb:DeleteItem" => function == "settle-account" && keys == [INBOX],
                // Opening an account updates the account count of the user.
                "dynamodb:UpdateItem" if function == "create-account" => keys == ["USER#*"],
                // A hold is not history: its captures are.
                "dynamodb:UpdateItem" => keys == ["ACCOUNT#*"] || keys == ["ACCOUNT#*", "HOLD#*"],
                read => READS.contains(&read),
            };
            assert!(right, "{function} must not {action} {keys:?}");
        }
    }
    stack.stop().await;
}

/// Of the functions of other services, only the executor of payments and the jobs of the bank
/// access the ledger's table. The table has no TTL, and one function reacts to its stream.
#[tokio::test]
async fn only_ledger_functions_access_the_table() {
    let stack = stack().start().await.expect("a stack");
    let functions = |lambda: &&Lambda| lambda.routes.iter().all(|route| !route.path.starts_with("/ledger/"));
    let others = stack.template().lambdas.iter().filter(functions).cloned().collect::<Vec<_>>();
    let others: BTreeSet<&str> = about_the_ledger(&others).into_iter().map(|(function, _)| function).collect();
    let expected =
        ["continue-bank-job", "execute-payment", "react-to-transactions", "release-expired-holds", "settle-account"];
    let is_expected = |function: &&str| expected.contains(function) || function.starts_with("reconcil");
    assert!(others.iter().all(is_expected), "{others:?}");
    let table = stack.template().tables.iter().find(|table| table.name.ends_with(TABLE)).expect("the table");
    assert!(table.stream.is_some() && table.expires_by.is_none(), "{:?}", table.stream);
    stack.stop().await;
}

/// Sends requests to every route, and repeats most of the writes.
async fn walk(client: &Client) -> Vec<u16> {
    let mut statuses = Vec::new();
    let mut told = |status| statuses.push(status);
    let opened = async |user: &str, negative: bool| {
        let terms = json!({"userId": user, "accountType": "checking", "currency": "USD", "allowNegative": negative});
        client.post_once(ACCOUNTS, user, &terms).await
    };
    let (from, to) = (id(&opened("one", true).await, "accountId"), id(&opened("two", false).await, "accountId"));
    told(opened("two", false).await.status);
    let shop = json!({"name": "Coffee Shop Inc", "category": "Restaurant"});
    let merchant = id(&client.post_once(MERCHANTS, "shop", &shop).await, "merchantId");
    told(client.post_once(MERCHANTS, "shop", &shop).await.status);
    let mut coffee = payment(&from, &to, "5.50");
    coffee["merchantId"] = merchant.as_str().into();
    let paid = client.post_once(TRANSACTIONS, "coffee", &coffee).await;
    let transaction = format!("{TRANSACTIONS}/{}", id(&paid, "transactionId"));
    told(client.post_once(TRANSACTIONS, "coffee", &coffee).await.status);
    let journal = legs([("debit", from.as_str(), "1.00", "USD"), ("credit", to.as_str(), "1.00", "USD")]);
    told(client.post_once(TRANSACTIONS, "journal", &journal).await.status);
    for _ in 0..2 {
        told(client.post_once(&format!("{transaction}/reversal"), "back", &json!({})).await.status);
    }
    let account = format!("{ACCOUNTS}/{to}");
    for status in ["frozen", "active"] {
        told(client.patch(&account, &json!({"status": status})).await.status);
    }
    for path in [
        account.clone(),
        format!("{account}/statement?limit=1"),
        format!("{account}/balance?at=2020-01-01T00:00:00Z"),
        "/ledger/users/two/accounts".to_owned(),
        format!("{MERCHANTS}/{merchant}"),
        transaction.clone(),
        format!("{TRANSACTIONS}?status=completed"),
        format!("{TRANSACTIONS}?idempotencyKey=coffee"),
    ] {
        told(client.get(&path).await.status);
    }
    statuses
}

/// Returns the writes of a call: the action, table, partition key and condition of each.
fn writes(call: &Call) -> Vec<(String, String, String, String)> {
    let write = |action: &str, body: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = ["Item", "Key"].iter().map(|part| text(&body[*part]["PK"]["S"])).collect::<String>();
        (action.to_owned(), text(&body["TableName"]), key, text(&body["ConditionExpression"]))
    };
    match call.action.as_str() {
        "TransactWriteItems" => {
            let items = call.body["TransactItems"].as_array().expect("changes").iter();
            let changes = items.flat_map(|item| item.as_object().expect("a change").iter());
            changes.map(|(action, body)| write(action, body)).collect()
        }
        "PutItem" => vec![write("Put", &call.body)],
        "UpdateItem" => vec![write("Update", &call.body)],
        read if ["GetItem", "BatchGetItem", "Query"].contains(&read) => Vec::new(),
        other => vec![write(other, &call.body)],
    }
}

#[tokio::test]
async fn functions_only_add_items_and_update_accounts() {
    let twins = Twins::start(stack).await;
    twins.proxy.heal();
    let statuses = walk(&Client::operator(&twins.faulty)).await;
    assert!(statuses.iter().all(|status| matches!(status, 200 | 201)), "{statuses:?}");
    let calls = twins.proxy.calls();
    let writes: Vec<_> = calls.iter().flat_map(writes).filter(|(_, table, ..)| table.ends_with(TABLE)).collect();
    for (action, _, key, condition) in &writes {
        let kind = key.split('#').next().unwrap_or_default();
        match action.as_str() {
            "Put" => {
                assert!(["TXN", "MERCHANT", "ACCOUNT"].contains(&kind), "{key}");
                assert_eq!(condition, "attribute_not_exists(PK)", "{key}");
            }
            "Update" => {
                assert_eq!(kind, "ACCOUNT", "{key}");
                assert!(condition.starts_with("attribute_exists(PK) AND "), "{key}: {condition}");
            }
            other => unreachable!("{other} of {key}"),
        }
    }
    let count = |kind: &str| writes.iter().filter(|(action, ..)| action == kind).count();
    // Puts: two accounts and a merchant, the retries of one account and of the merchant, a header
    // and two legs for each of three transactions and for a retry, and a reversal marker. Updates:
    // two accounts for each transaction and for the retry, and two status changes.
    assert_eq!((count("Put"), count("Update")), (3 + 2 + 4 * 3 + 1, 4 * 2 + 2));
    // The functions use only the actions that the policies permit.
    let actions: BTreeSet<&str> = calls.iter().map(|call| call.action.as_str()).collect();
    let known = ["BatchGetItem", "GetItem", "PutItem", "Query", "TransactWriteItems", "UpdateItem"];
    assert_eq!(actions, BTreeSet::from(known));
    twins.faulty.stop().await;
    twins.healthy.stop().await;
}
