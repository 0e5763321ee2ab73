//! Tests one payment over HTTP, from its scheduling to the transaction history.

use serde_json::json;
use system_tests::{Client, stack};

#[tokio::test]
async fn schedules_processes_and_archives_a_payment() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let new = json!({"scheduledTime": "2099-12-01T09:30:00Z", "data": {"amount": 12.50}});
    let scheduled = client.post("/bank/accounts/A-1/payments", &new).await;
    assert_eq!(scheduled.status, 201, "{}", scheduled.body);
    let id = scheduled.body["paymentId"].as_str().expect("an id");
    let path = format!("/bank/accounts/A-1/payments/{id}");
    assert_eq!(scheduled.headers["location"], path);
    assert_eq!(client.get(&path).await.body, scheduled.body);
    let due = client.get("/bank/payments/due?date=2099-12-01").await;
    assert_eq!(due.body["items"], json!([scheduled.body]));
    assert_eq!(client.patch(&path, &json!({"status": "PENDING"})).await.body["status"], "PENDING");
    let paid = client.patch(&path, &json!({"status": "PROCESSED", "transactionId": "T-1"})).await;
    assert_eq!(paid.body["transactionId"], "T-1", "{}", paid.body);
    let archived = client.invoke("archive-settled-payments", &json!({"date": "2099-12-01"})).await;
    assert_eq!(archived.body, json!({"until": "2099-12-01", "moved": 1, "left": false}));
    assert_eq!(client.get(&path).await.body["status"], "PROCESSED");
    let transaction = client.get("/bank/transactions/T-1").await;
    assert_eq!(transaction.body["paymentId"], id, "{}", transaction.body);
    stack.stop().await;
}
