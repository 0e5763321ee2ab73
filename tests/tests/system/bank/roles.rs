//! A customer sets no status of a payment except `CANCELLED`
//! (docs/requirements/bank.md#permissions).

use jiff::Timestamp;
use local::Auth;
use serde_json::json;
use system_tests::{
    Client,
    bank::{bring_to, schedule, without_jobs},
    openapi::Document,
    text,
};
const TIME: &str = "2099-12-01T09:30:00Z";

/// The account of the customer.
const OWN: &str = "A-1";

/// Every status, as the target of a change by the owner of the payment.
#[tokio::test]
async fn customers_set_no_status_except_cancelled() {
    let stack = without_jobs().auth(Auth::Required).start().await.expect("a stack");
    let operator = Client::caller(&stack, "bank:operate", &[]);
    let customer = Client::caller(&stack, "bank:read bank:write", &[OWN]);
    let statuses = statuses();
    assert!(statuses.len() >= 5, "{statuses:?}");
    for from in ["SCHEDULED", "PENDING", "PROCESSED", "FAILED", "CANCELLED"] {
        for to in &statuses {
            let payment = schedule(&operator, OWN, TIME).await;
            let id = text(&payment, "paymentId");
            let payment = bring_to(&operator, &payment, from, &format!("T-{id}")).await;
            let path = format!("/bank/accounts/{OWN}/payments/{id}");
            let body = match to.as_str() {
                "PROCESSED" => json!({"status": to, "transactionId": format!("U-{}", Timestamp::now())}),
                _ => json!({"status": to}),
            };
            let answer = customer.patch(&path, &body).await;
            let wanted = match (from, to.as_str()) {
                ("SCHEDULED", "CANCELLED") => 200,
                (_, "CANCELLED") => 409,
                _ => 403,
            };
            assert_eq!(answer.status, wanted, "{from} to {to}: {}", answer.body);
            let now = customer.get(&path).await.body;
            assert!(wanted == 200 || now == payment, "{from} to {to}: {now}");
        }
    }
    stack.stop().await;
}

/// The payment statuses of the OpenAPI document, which a test compares with the code.
fn statuses() -> Vec<String> {
    let (document, reference) = (Document::read(), json!({"$ref": "#/components/schemas/PaymentStatus"}));
    let statuses = document.follow(&reference)["enum"].as_array().expect("statuses");
    statuses.iter().map(|status| status.as_str().expect("a status").to_owned()).collect()
}
