use super::*;

fn request(target: &str, body: &Value) -> HttpRequest {
    let mut request = HttpRequest::new(body.to_string().into());
    request.headers_mut().insert("x-amz-target", target.to_owned());
    request
}

fn needed(target: &str, body: &Value) -> Vec<(String, String, Option<String>)> {
    let needs = needs(&request(target, body)).into_iter();
    let short = |resource: &str| resource.rsplit(':').next().unwrap_or_default().to_owned();
    needs.map(|need| (need.action, short(&need.resource), need.key)).collect()
}

fn need(action: &str, resource: &str, key: Option<&str>) -> (String, String, Option<String>) {
    (action.to_owned(), resource.to_owned(), key.map(str::to_owned))
}

#[test]
fn a_query_requires_permission_for_its_index() {
    let needed = needed("DynamoDB_20120810.Query", &json!({"TableName": "t", "IndexName": "GSI1"}));
    assert_eq!(needed, [need("dynamodb:Query", "table/t/index/GSI1", None)]);
}

#[test]
fn a_transaction_requires_the_permissions_of_its_actions() {
    let key = json!({"PK": {"S": "a"}, "SK": {"S": "b"}});
    let body = json!({"TransactItems": [
        {"Put": {"TableName": "t", "Item": key}},
        {"Update": {"TableName": "u", "Key": key}},
        {"Delete": {"TableName": "t", "Key": key}},
        {"ConditionCheck": {"TableName": "t", "Key": key}},
    ]});
    let wanted = [("Put", "t"), ("Update", "u"), ("Delete", "t"), ("ConditionCheck", "t")]
        .map(|(kind, table)| need(&format!("dynamodb:{kind}Item"), &format!("table/{table}"), Some("a")));
    assert_eq!(needed("DynamoDB_20120810.TransactWriteItems", &body), wanted);
}

#[test]
fn a_batch_requires_the_batch_action_for_each_key() {
    let key = |partition: &str| json!({"PK": {"S": partition}, "SK": {"S": "s"}});
    let reads = json!({"RequestItems": {"t": {"Keys": [key("a"), key("b")], "ConsistentRead": true}}});
    let wanted = ["a", "b"].map(|partition| need("dynamodb:BatchGetItem", "table/t", Some(partition)));
    assert_eq!(needed("DynamoDB_20120810.BatchGetItem", &reads), wanted);
    let writes =
        json!({"RequestItems": {"t": [{"PutRequest": {"Item": key("a")}}, {"DeleteRequest": {"Key": key("b")}}]}});
    let wanted = ["a", "b"].map(|partition| need("dynamodb:BatchWriteItem", "table/t", Some(partition)));
    assert_eq!(needed("DynamoDB_20120810.BatchWriteItem", &writes), wanted);
}

#[test]
fn firehose_and_s3_calls_require_their_stream_or_object() {
    let needed = needed("Firehose_20150804.PutRecordBatch", &json!({"DeliveryStreamName": "changes"}));
    assert_eq!(needed, [need("firehose:PutRecordBatch", "deliverystream/changes", None)]);
    let mut put = HttpRequest::empty();
    put.set_method("PUT").expect("a method");
    put.set_uri("http://127.0.0.1:1/bucket/failed/1.json?x-id=PutObject").expect("a URI");
    let resource = "arn:aws:s3:::bucket/failed/1.json".to_owned();
    assert_eq!(needs(&put), [Need { action: "s3:PutObject".to_owned(), resource, key: None }]);
    for (method, path, action, resource) in [
        ("GET", "bucket/a%20b", "s3:GetObject", "bucket/a b"),
        ("HEAD", "bucket/a", "s3:GetObject", "bucket/a"),
        ("GET", "bucket/a?versionId=1", "s3:GetObjectVersion", "bucket/a"),
        ("POST", "bucket/a?uploads", "s3:PutObject", "bucket/a"),
        ("PUT", "bucket/a?partNumber=1&uploadId=u", "s3:PutObject", "bucket/a"),
        ("DELETE", "bucket/a?uploadId=u", "s3:AbortMultipartUpload", "bucket/a"),
        ("DELETE", "bucket/a", "s3:DeleteObject", "bucket/a"),
        ("GET", "bucket/?list-type=2", "s3:ListBucket", "bucket"),
        ("GET", "bucket?list-type=2", "s3:ListBucket", "bucket"),
    ] {
        let mut request = HttpRequest::empty();
        request.set_method(method).expect("a method");
        request.set_uri(format!("http://127.0.0.1:1/{path}")).expect("a URI");
        let resource = format!("arn:aws:s3:::{resource}");
        assert_eq!(needs(&request), [Need { action: action.to_owned(), resource, key: None }], "{method} {path}");
    }
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
