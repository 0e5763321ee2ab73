use super::*;

fn request() -> Value {
    json!({
        "routeKey": "POST /a/{id}/b/{other}", "rawPath": "/a/1/b/2", "rawQueryString": "x=1",
        "headers": {"content-length": "15", "content-type": "application/json", "idempotency-key": "k"},
        "queryStringParameters": {"x": "1"},
        "requestContext": {
            "authorizer": {"jwt": {"claims": {"scope": "a:read", "sub": "u"}, "scopes": ["a:read"]}},
            "http": {"method": "POST", "path": "/a/1/b/2"}, "routeKey": "POST /a/{id}/b/{other}",
        },
        "pathParameters": {"id": "1", "other": "2"}, "body": "{\"c\":{\"d\":1}}",
    })
}

#[test]
fn a_variant_changes_the_request_and_what_follows_from_it() {
    let variant = json!({
        "route": "PUT /a/{id}", "path": {"id": "é 1", "other": null}, "query": {"x": null, "y": "a b"},
        "headers": {"idempotency-key": null}, "claims": {"scope": "a:read a:write"}, "body": {"c": {"d": null, "e": "é"}},
    });
    let expected = json!({
        "routeKey": "PUT /a/{id}", "rawPath": "/a/é 1", "rawQueryString": "y=a+b",
        "headers": {"content-length": "16", "content-type": "application/json"},
        "queryStringParameters": {"y": "a b"},
        "requestContext": {
            "authorizer": {"jwt": {"claims": {"scope": "a:read a:write", "sub": "u"}, "scopes": ["a:read", "a:write"]}},
            "http": {"method": "PUT", "path": "/a/é 1"}, "routeKey": "PUT /a/{id}",
        },
        "pathParameters": {"id": "é 1"}, "body": "{\"c\":{\"e\":\"é\"}}",
    });
    assert_eq!(expand(request(), variant).unwrap(), expected);
}

#[test]
fn each_record_of_a_batch_has_a_patch_and_empty_parameters_are_left_out() {
    let base = json!({"Records": [{"a": 1, "b": 1}, {"a": 2}]});
    let variant = json!({"records": [{}, {"a": 3}, {"b": 4}]});
    let expected = json!({"Records": [{"a": 1, "b": 1}, {"a": 3}, {"a": 2, "b": 4}]});
    assert_eq!(expand(base.clone(), variant).unwrap(), expected);
    assert_eq!(expand(base.clone(), json!({"event": {"Records": []}})).unwrap(), json!({"Records": []}));
    assert_eq!(expand(base, json!({"whole": ["x"]})).unwrap(), json!(["x"]));
    let variant = json!({"route": "GET /a", "path": {"id": null, "other": null}, "query": {"x": null}, "body": null});
    let event = expand(request(), variant).unwrap();
    let left = ["/pathParameters", "/queryStringParameters", "/body", "/headers/content-length"];
    assert!(left.iter().all(|path| event.pointer(path).is_none()), "{event}");
    let event = expand(request(), json!({"body": "no JSON"})).unwrap();
    assert_eq!((&event["body"], &event["headers"]["content-length"]), (&json!("no JSON"), &json!("7")));
}

#[test]
fn an_invalid_variant_is_an_error_that_names_it() {
    for (variant, part) in [
        (json!({"pth": {}}), "unknown field `pth`"),
        (json!({"path": 5}), "invalid type"),
        (json!({"path": {"unknown": "1"}}), "the path parameters are not those of POST /a/{id}/b/{other}"),
        (json!({"path": {"id": null}}), "the path parameters are not"),
        (json!({"route": "GET /a"}), "the path parameters are not those of GET /a"),
        (json!({"route": "GET"}), "the path parameters are not"),
        (json!(null), "invalid type"),
    ] {
        let error = expand(request(), variant.clone()).unwrap_err().to_string();
        assert!(error.contains(part), "{variant}: {error}");
    }
    let error = expand(json!({"Records": []}), json!({"query": {"x": "1"}})).unwrap_err().to_string();
    assert_eq!(error, "the base is no HTTP request");
}

#[test]
fn an_error_names_the_file_and_the_event() {
    let root = std::env::temp_dir().join(format!("events-{}", uuid::Uuid::new_v4()));
    let service = root.join("bank");
    fs::create_dir_all(&service).unwrap();
    for (name, text) in [
        ("get.json", r#"{"routeKey": "GET /a"}"#),
        ("put.json", "{"),
        (VARIANTS, r#"{"get.bad": {"pth": {}}, "post.no-base": {}, "get.good": {"query": {"x": "1"}}}"#),
    ] {
        fs::write(service.join(name), text).unwrap();
    }
    let events = Events::of(&root);
    for (name, part) in [
        ("get.bad", "bank/variants.json: get.bad: unknown field `pth`"),
        ("get.missing", "bank/variants.json has no variant get.missing"),
        ("post.no-base", "no folder of"),
        ("put", "bank/put.json: EOF while parsing"),
    ] {
        let error = events.event(name).unwrap_err().to_string();
        assert!(error.contains(part), "{name}: {error}");
    }
    assert_eq!(events.event("get.good").unwrap()["rawQueryString"], "x=1");
    let names: Vec<String> = events.names().unwrap().into_iter().collect();
    assert_eq!(names, ["get", "get.bad", "get.good", "post.no-base", "put"]);
    fs::remove_dir_all(&root).unwrap();
}
