//! Unusual but valid ids and names are accepted.

use serde_json::json;
use system_tests::{
    Client, text,
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
        let section = json!({"name": name, "startDate": "2020-06-01", "endDate": "2020-12-31"});
        let put = client.put(&of(&format!("sections/{escaped}")), &section).await;
        assert_eq!((put.status, &put.body["sectionId"]), (201, &json!(id)), "{}", put.body);
        let path = of(&format!("references/files/{escaped}"));
        let put = client.put(&path, &json!({"name": name, "data": {}})).await;
        assert_eq!(put.headers["location"], path.replace('+', "%2B"), "{}", put.body);
        let activity = json!({
            "name": name, "type": "event", "subType": id, "startDate": "2020-12-31", "endDate": "2020-12-31",
            "sectionId": id, "filters": {"roles": [id], "departments": [id]},
            "rewards": [{"kind": id, "name": name, "amount": 0}],
            "references": [{"facet": "files", "id": id, "data": {}}],
        });
        let made = create(&client, escaped, &activity).await;
        let whole = client.get(&of(&format!("activities/{}", text(&made, "activityId")))).await.body;
        assert_eq!((&whole["references"][0]["id"], &whole["rewards"][0]["kind"]), (&json!(id), &json!(id)), "{whole}");
        let query = escaped.replace('+', "%2B");
        let query = format!("year=2020&status=completed&role={query}&department={query}&subType={query}");
        let options = client.get(&of(&format!("activity-options?{query}"))).await.body;
        assert_eq!(options["items"][0]["filters"]["roles"], json!([id]), "{options}");
        let used = of(&format!("references/files/{escaped}/activities?status=completed&from=2020-12-31"));
        assert_eq!(client.get(&used).await.body["items"][0]["activityId"], made["activityId"]);
    }
}
