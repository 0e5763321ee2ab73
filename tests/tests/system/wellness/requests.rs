//! Unusual but valid requests must succeed.

use serde_json::json;
use system_tests::{
    Client, send, text,
    wellness::{create, of_company, stack},
};

#[tokio::test]
async fn accepts_unusual_but_valid_requests() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let longest = "x".repeat(128);
    let ids = [("a%2523b", "a%23b"), ("%2F", "/"), ("a+b", "a+b"), ("%C3%A4%F0%9F%92%B6", "ä💶"), (&longest, &longest)];
    for (escaped, id) in ids {
        let of = |rest: &str| of_company(escaped, rest);
        let name = "\u{1f4b6}".repeat(200);
        let section =
            json!({"name": name, "startDate": "2020-06-01T02:00:00+02:00", "endDate": "2020-12-31T00:00:00.999Z"});
        let put = client.put(&of(&format!("sections/{escaped}")), &section).await;
        assert_eq!((put.status, &put.body["sectionId"]), (201, &json!(id)), "{}", put.body);
        assert_eq!(
            (&put.body["startDate"], &put.body["endDate"]),
            (&json!("2020-06-01T00:00:00Z"), &json!("2020-12-31T00:00:00Z"))
        );
        let path = of(&format!("references/files/{escaped}"));
        let put = client.put(&path, &json!({"name": name, "data": {}})).await;
        assert_eq!(put.headers["location"], path.replace('+', "%2B"), "{}", put.body);
        let activity = json!({
            "name": name, "type": "event", "subType": id, "startDate": "2020-12-31", "endDate": "2020-12-31", "sectionId": id,
            "filters": {"roles": [id], "departments": [id]},
            "rewards": [{"kind": id, "name": name, "amount": 0}],
            "references": [{"facet": "files", "id": id, "data": {}}],
        });
        let made = create(&client, escaped, &activity).await;
        let whole = client.get(&of(&format!("activities/{}", text(&made, "activityId")))).await;
        assert_eq!((whole.status, &whole.body["references"][0]["id"]), (200, &json!(id)), "{}", whole.body);
        assert_eq!(whole.body["rewards"][0]["kind"], id);
        let query = escaped.replace('+', "%2B");
        let options =
            of(&format!("activity-options?year=2020&status=completed&role={query}&department={query}&subType={query}"));
        assert_eq!(client.get(&options).await.body["items"][0]["filters"]["roles"], json!([id]));
        let used =
            client.get(&of(&format!("references/files/{escaped}/activities?status=completed&from=2020-12-31"))).await;
        assert_eq!(used.body["items"][0]["activityId"], made["activityId"], "{}", used.body);
        let placed = client.put(&of(&format!("employees/{escaped}")), &json!({"role": id, "department": id})).await;
        assert_eq!((placed.status, &placed.body["userId"]), (201, &json!(id)), "{}", placed.body);
    }
    for kind in ["application/json", "APPLICATION/JSON; charset=utf-8", "application/merge-patch+json"] {
        let body = r#"{"role": "R", "department": "D"}"#;
        let request = client.request("PUT", &of_company("C", "employees/u")).header("content-type", kind).body(body);
        assert!([200, 201].contains(&send(request).await.status), "{kind}");
    }
    stack.stop().await;
}
