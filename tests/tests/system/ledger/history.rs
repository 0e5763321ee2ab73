//! The history is append-only ([decision](../../../../docs/decisions/ledger-history.md)). The
//! template, which the local stack enforces, does not permit any function to delete or replace
//! items. Mistakes are corrected by further transactions.

use serde_json::Value;
use system_tests::{
    events::folder,
    faults::{Call, Twins},
    ledger::stack,
};
use template::Statement;

const TABLE: &str = "FinancialTransactions";
/// The partition keys of inbox items.
const INBOX: &str = "ACCOUNT#*#INBOX#*";
/// Permitted read actions.
const READS: [&str; 3] = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"];

/// Whether a resource covers more than one table or index.
fn is_wide(resource: &str) -> bool {
    resource == "*" || (resource.starts_with("arn:") && resource.contains(":dynamodb:") && resource.contains('*'))
}

/// The table has no TTL, and one function reacts to its stream.
#[tokio::test]
async fn no_function_may_delete_or_replace_history() {
    let stack = stack().start().await.expect("a stack");
    let pairs = stack.template().lambdas.iter().flat_map(|lambda| lambda.statements.iter().map(move |of| (lambda, of)));
    let is_meant = |resource: &String| resource.contains(TABLE) || is_wide(resource);
    let statements: Vec<_> = pairs.filter(|(_, statement)| statement.resources.iter().any(is_meant)).collect();
    assert!(statements.len() >= 16, "{}", statements.len());
    for (lambda, Statement { actions, resources, leading_keys }) in statements {
        let function = lambda.name.as_str();
        let is_of_ledger = lambda.routes.iter().any(|route| route.path.starts_with("/ledger/"));
        let others = ["react-to-transactions", "release-expired-holds", "settle-account"];
        assert!(is_of_ledger || others.contains(&function) || function.starts_with("reconcil"), "{function}");
        assert!(!resources.iter().any(|resource| is_wide(resource)), "{function}: {resources:?}");
        for action in actions {
            let keys: Vec<&str> = leading_keys.iter().map(String::as_str).collect();
            let right = match action.as_str() {
                "dynamodb:PutItem" => {
                    let keys = keys.strip_suffix(&["REFERENCE#*"]).unwrap_or(&keys);
                    matches!(keys, ["TXN#*" | "MERCHANT#*" | "ACCOUNT#*" | "HOLD#*"] | ["TXN#*", INBOX])
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
    let table = stack.template().tables.iter().find(|table| table.name.ends_with(TABLE)).expect("the table");
    assert!(table.stream.is_some() && table.expires_by.is_none(), "{:?}", table.stream);
    stack.stop().await;
}

/// Returns the writes of a call: the action, table, partition key and condition of each.
fn writes(call: &Call) -> Vec<[String; 4]> {
    let write = |action: &str, body: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = ["Item", "Key"].iter().map(|part| text(&body[*part]["PK"]["S"])).collect();
        [action.to_owned(), text(&body["TableName"]), key, text(&body["ConditionExpression"])]
    };
    match call.action.as_str() {
        "TransactWriteItems" => {
            let items = call.body["TransactItems"].as_array().expect("changes").iter();
            items
                .flat_map(|item| item.as_object().expect("a change"))
                .map(|(action, body)| write(action, body))
                .collect()
        }
        "GetItem" | "BatchGetItem" | "Query" => Vec::new(),
        other => vec![write(other.trim_end_matches("Item"), &call.body)],
    }
}

#[tokio::test]
async fn functions_add_items_only_if_they_are_new() {
    let twins = Twins::start(stack).await;
    twins.proxy.heal();
    twins.faulty.create_world(&folder()).await.expect("the world");
    let mut count = 0;
    for [action, table, key, condition] in twins.proxy.calls().iter().flat_map(writes) {
        if table.ends_with(TABLE) {
            let is_right = match action.as_str() {
                "Put" => condition == "attribute_not_exists(PK)",
                "Update" => key.starts_with("USER#") || condition.starts_with("attribute_exists(PK) AND "),
                "Delete" => key.contains("#INBOX#"),
                "ConditionCheck" => true,
                _ => false,
            };
            assert!(is_right, "{action} {key} {condition}");
            count += usize::from(action == "Put");
        }
    }
    assert!(count > 30, "{count}");
    twins.faulty.stop().await;
    twins.healthy.stop().await;
}
