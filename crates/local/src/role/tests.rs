use super::*;

fn request(target: &str, body: &Value) -> HttpRequest {
    let mut request = HttpRequest::new(body.to_string().into());
    request.headers_mut().insert("x-amz-target", target.to_owned());
    request
}

fn role(leading_keys: &[&str]) -> Role {
    let statement = Statement {
        actions: vec!["dynamodb:PutItem".to_owned()],
        resources: vec![format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/t")],
        leading_keys: leading_keys.iter().map(|key| (*key).to_owned()).collect(),
    };
    Role { function: "f".to_owned(), statements: vec![statement], notes: None }
}

fn put(table: &str, key: &str) -> HttpRequest {
    request("DynamoDB_20120810.PutItem", &json!({"TableName": table, "Item": {"PK": {"S": key}}}))
}

#[test]
fn allows_only_calls_that_match_a_statement() {
    let is_allowed = |role: &Role, request| role.refuse(&request).is_none();
    assert!(is_allowed(&role(&[]), put("t", "a")));
    assert!(!is_allowed(&role(&[]), put("t2", "a")));
    let delete = request("DynamoDB_20120810.DeleteItem", &json!({"TableName": "t", "Key": {"PK": {"S": "a"}}}));
    assert!(!is_allowed(&role(&[]), delete));
    assert!(is_allowed(&role(&["TXN#*"]), put("t", "TXN#1")));
    assert!(!is_allowed(&role(&["TXN#*"]), put("t", "ACCOUNT#1")));
    for (key, is_inbox) in [("ACCOUNT#1#INBOX#0", true), ("ACCOUNT#1", false), ("ACCOUNT#INBOX#0", false)] {
        assert_eq!(is_allowed(&role(&["ACCOUNT#*#INBOX#*"]), put("t", key)), is_inbox, "{key}");
    }
}

#[test]
fn a_denial_has_the_format_of_iam() {
    let refusal = role(&[]).refuse(&put("u", "a")).expect("denied");
    let body: Value = serde_json::from_slice(refusal.body().bytes().expect("bytes")).expect("JSON");
    assert_eq!((refusal.status().as_u16(), &body["__type"]), (400, &json!("AccessDeniedException")));
    let resource = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/u");
    let end = format!("is not authorized to perform: dynamodb:PutItem on resource: {resource}");
    assert!(body["message"].as_str().is_some_and(|message| message.ends_with(&end)), "{body}");
}

#[test]
fn the_list_of_the_buckets_needs_its_own_permission() {
    for (path, action, resource) in
        [("/", "ListAllMyBuckets", "*"), ("/b", "ListBucket", "b"), ("/b/", "ListBucket", "b")]
    {
        let need = of_s3("GET", path, "");
        assert_eq!(
            (need.action, need.resource),
            (format!("s3:{action}"), format!("arn:aws:s3:::{resource}")),
            "{path}"
        );
    }
}
