//! Each role on each route of the bank (docs/requirements/bank.md#permissions).

use jiff::Timestamp;
use local::Auth;
use serde_json::{Value, json};
use system_tests::{
    Client,
    bank::{archive, bring_to, schedule, without_jobs},
    openapi::Document,
    roles::{Attempt, OTHER, OWN, Outcome, check},
    text,
};

const READ: &[&str] = &["bank:read", "bank:operate"];
const WRITE: &[&str] = &["bank:write", "bank:operate"];
const OPERATE: &[&str] = &["bank:operate"];
const CHANGE: &str = "PATCH /bank/accounts/{accountId}/payments/{paymentId}";
const RETRY: &str = "POST /bank/accounts/{accountId}/payments/{paymentId}/retry";
const TIME: &str = "2099-12-01T09:30:00Z";
const NO_JOB: &str = "dispatch-0";
const NOBODYS: &str = "20991201T093000Z-01a1fc5e473c78b1a1bb5371724e7a94";

/// A status change that only operators may request, for a payment in the state.
fn by_operator(state: &'static str, body: Value) -> Attempt {
    Attempt::of_operators(CHANGE, WRITE).with(state, body)
}

fn attempts() -> Vec<Attempt> {
    use Outcome::{Conflict, Missing};
    let cancel = || Attempt::of_customers(CHANGE, WRITE);
    let cancelled = json!({"status": "CANCELLED"});
    vec![
        Attempt::of_customers("POST /bank/accounts/{accountId}/payments", WRITE)
            .with("", json!({"scheduledTime": TIME, "data": "secret"})),
        Attempt::of_customers("GET /bank/accounts/{accountId}/payments", READ),
        Attempt::of_customers("GET /bank/accounts/{accountId}/payments/{paymentId}", READ)
            .with("SCHEDULED", Value::Null),
        Attempt::of_customers("GET /bank/accounts/{accountId}/transactions", READ),
        Attempt::of_operators("GET /bank/payments/due", OPERATE),
        Attempt::of_operators("GET /bank/payments/overdue", OPERATE),
        Attempt::of_operators("POST /bank/days/{date}/close", OPERATE),
        Attempt::of_operators("GET /bank/days/{date}", OPERATE),
        Attempt::of_operators(RETRY, OPERATE).with("FAILED", Value::Null),
        Attempt::of_operators(RETRY, OPERATE).with("PENDING", Value::Null).gets(Conflict, Missing),
        Attempt::of_operators("GET /bank/transactions", OPERATE),
        Attempt::of_operators("POST /bank/dispatches", OPERATE),
        Attempt::of_operators("GET /bank/dispatching", OPERATE),
        Attempt::of_operators("PUT /bank/dispatching", OPERATE).with("", json!({"enabled": true})),
        Attempt::of_operators("GET /bank/jobs/{jobId}", OPERATE).with("JOB", Value::Null).unknown(NO_JOB),
        Attempt::of_operators("POST /bank/jobs/{jobId}/retry", OPERATE)
            .with("JOB", Value::Null)
            .gets(Conflict, Missing)
            .unknown(NO_JOB),
        Attempt::of_operators("GET /bank/transactions/{transactionId}", OPERATE).with("ARCHIVED", Value::Null),
        cancel().with("SCHEDULED", cancelled.clone()),
        cancel().with("PENDING", cancelled.clone()).gets(Conflict, Missing),
        cancel().with("PROCESSED", cancelled).gets(Conflict, Missing),
        cancel().with("PENDING", json!({"status": "CANCELLED", "expectedStatus": "PENDING"})).gets(Conflict, Conflict),
        by_operator("SCHEDULED", json!({"status": "PENDING"})),
        by_operator("SCHEDULED", json!({"status": "SCHEDULED"})).gets(Conflict, Conflict),
        by_operator("PENDING", json!({"status": "FAILED"})),
        by_operator("SCHEDULED", json!({"status": "FAILED"})).gets(Conflict, Missing),
        by_operator("SCHEDULED", json!({"status": "PROCESSED", "transactionId": "T-new"})).gets(Conflict, Missing),
        // A customer learns nothing about transaction ids: neither that one is used, nor that one
        // is free.
        by_operator("PENDING", json!({"status": "PROCESSED", "transactionId": "T-used"})).gets(Conflict, Missing),
    ]
}

#[tokio::test]
async fn each_role_may_do_what_the_table_of_actors_says() {
    // A job would change the tables while refused requests are checked.
    let stack = without_jobs().auth(Auth::Required).start().await.expect("a stack");
    let operator = Client::caller(&stack, "bank:operate", &[]);
    // The local stack invokes a function only for an operator of all services.
    let local = Client::caller(&stack, "bank:operate cart:operate wellness:operate ledger:operate", &[]);
    let used = schedule(&operator, OTHER, TIME).await;
    bring_to(&operator, &used, "PROCESSED", "T-used").await;
    let make = async |account: &str, state: &str| {
        let payment = match state {
            "" => return String::new(),
            "JOB" => {
                let job = operator.post("/bank/dispatches", &json!({})).await.body;
                return text(&job, "jobId").to_owned();
            }
            _ => schedule(&operator, account, TIME).await,
        };
        let id = text(&payment, "paymentId").to_owned();
        match state {
            "ARCHIVED" => {
                bring_to(&operator, &payment, "PROCESSED", &format!("T-{id}")).await;
                assert!(archive(&local, "2099-12-01").await > 0);
                format!("T-{id}")
            }
            state => {
                bring_to(&operator, &payment, state, &format!("T-{id}")).await;
                id
            }
        }
    };
    check(&stack, "bank", &attempts(), NOBODYS, make).await;
    stack.stop().await;
}

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
