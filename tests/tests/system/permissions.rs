//! Compares the policies of the functions with the permissions that the tests use. The local stack
//! denies calls that no policy allows (docs/decisions/permissions.md).

use local::Stack;
use serde_json::json;
use std::{collections::BTreeSet, fs, path::Path};
use system_tests::{Client, bank::with_service, stack, template_of};
use template::Template;

/// A permission: function, action, resource, and partition key pattern.
type Permission = [String; 4];

/// The permissions of the template with this index projection and this transaction service.
async fn allowed(projection: &str, service: &str) -> BTreeSet<Permission> {
    let stack = stack().parameter("IndexProjection", projection);
    let stack = match service {
        "http" => with_service(stack, "http://127.0.0.1:9/"),
        service => stack.parameter("TransactionService", service),
    };
    let stack = stack.start().await.expect("a stack");
    let template: &Template = stack.template();
    let mut allowed = BTreeSet::new();
    for lambda in &template.lambdas {
        for statement in &lambda.statements {
            let any = vec!["*".to_owned()];
            let keys = if statement.leading_keys.is_empty() { &any } else { &statement.leading_keys };
            for action in &statement.actions {
                for resource in &statement.resources {
                    let permission =
                        |key: &String| [lambda.name.clone(), action.clone(), resource.clone(), key.clone()];
                    allowed.extend(keys.iter().map(permission));
                }
            }
        }
    }
    stack.stop().await;
    allowed
}

fn used(folder: &Path) -> BTreeSet<Permission> {
    let files =
        fs::read_dir(folder).expect("a folder of used permissions: make test").map(|file| file.expect("a file"));
    let texts = files.map(|file| fs::read_to_string(file.path()).expect("a text")).collect::<Vec<_>>();
    let read = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into().expect("four parts");
    // A stack of one service has a shorter name for its bucket than the nested stack.
    let nested = |text: &String| {
        let text = text.replace(":::local-inbox/", ":::local-bank-inbox/");
        text.replace(":::local-files/", ":::local-wellness-files/")
    };
    let nested = texts.iter().map(nested).collect::<Vec<_>>();
    nested.iter().flat_map(|text| text.lines().map(read)).collect()
}

/// Makes the warm-up calls of all functions, because the other tests do not make them.
async fn warm_up_all() {
    let stack = stack().start().await.expect("a stack");
    for (name, function) in events::functions() {
        let lambda = stack.template().lambdas.iter().find(|lambda| lambda.name == name).expect("a function");
        let settings = lambda.environment.clone().into_iter().collect();
        function.warm_up(&settings, stack.clients_of(lambda)).expect("valid settings").await;
    }
    stack.stop().await;
}

/// Reads the permissions that all tests have recorded in the folder `PERMISSIONS_USED`.
#[tokio::test]
#[ignore = "runs after all other tests: make test"]
async fn every_permission_is_needed() {
    warm_up_all().await;
    let folder = std::env::var_os("PERMISSIONS_USED").expect("PERMISSIONS_USED");
    let used = used(Path::new(&folder));
    for (projection, service) in [("KEYS_ONLY", "ledger"), ("ALL", "http")] {
        let allowed = allowed(projection, service).await;
        let superfluous: Vec<_> = allowed.difference(&used).collect();
        assert!(superfluous.is_empty(), "{projection} and {service}: no test used {superfluous:#?}");
    }
}

#[tokio::test]
async fn permissions_have_no_wildcards() {
    for [function, action, resource, _] in allowed("KEYS_ONLY_AND_ALL", "http").await {
        assert!(!action.contains(['*', '?']), "{function}: the action {action} has a wildcard");
        if action == "s3:ListBucket" {
            assert!(!resource.contains(['*', '?', '/']), "{function}: {resource} is not a single bucket");
            continue;
        }
        // The keys of S3 objects are unknown, so the policy may end with a wildcard.
        let name = if ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"].contains(&&*action) {
            resource.strip_suffix("/*")
        } else {
            Some(&resource[..])
        };
        assert!(
            name.is_some_and(|name| {
                (name.contains(['/', '.']) || name.contains(":secret:")) && !name.contains(['*', '?'])
            }),
            "{function}: the resource {resource} is not specific"
        );
    }
}

/// The bank's template with one action of a function's policy replaced.
fn with_another_action(function: &str, action: &str, other: &str) -> String {
    let template = template_of("bank");
    let block = template.find(&format!("\n  {function}:\n")).expect("the function");
    let (before, after) = template.split_at(block);
    format!("{before}{}", after.replacen(&format!("dynamodb:{action}"), &format!("dynamodb:{other}"), 1))
}

#[tokio::test]
async fn denies_an_action_that_the_policy_does_not_allow() {
    let template = with_another_action("SchedulePayment", "PutItem", "Scan");
    let stack = Stack::of_text(template).start().await.expect("a stack");
    let client = Client::operator(&stack);
    let payment = json!({"scheduledTime": "2099-12-01T09:30:00Z", "data": {"amount": 12.50}});
    let answer = client.post("/bank/accounts/A-1/payments", &payment).await;
    assert_eq!(answer.status, 500, "{}", answer.body);
    assert_eq!(client.get("/bank/accounts/A-1/payments").await.body["items"], json!([]));
    stack.stop().await;
}
