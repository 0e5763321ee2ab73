//! New data and new times of payments (docs/requirements/bank.md#amend-a-payment).

use bank::Payment;
use events::Auth;
use futures::{future::join_all, join};
use keys::bank::Status;
use local::Stack;
use serde_json::{Value, json};
use system_tests::{
    Answer, Client, assert_problem,
    bank::{Row, archive, payment, payments, put, rows, stack},
    clock::{At, time},
};

const TIME: &str = "2099-12-01T09:30:00Z";
const LATER: &str = "2099-12-02T10:00:00Z";
const LIST: &str = "/bank/accounts/A-1/payments?from=2000-01-01&to=2100-01-01";

fn path(id: &str) -> String {
    format!("/bank/accounts/A-1/payments/{id}")
}

/// The author of a request without a token.
fn local_operator() -> Value {
    json!({"sub": "local-operator", "scope": "bank:operate"})
}

/// Puts a `SCHEDULED` payment that is not new. Returns its path.
async fn scheduled(stack: &Stack, change: impl FnOnce(&mut Payment)) -> String {
    let mut one = payment("A-1", TIME, Status::Scheduled, 0);
    one.created_at = "2020-12-01T09:30:00Z".parse().expect("a time");
    change(&mut one);
    put(stack, std::slice::from_ref(&one)).await;
    path(&one.id().to_string())
}

/// The ids in the list of the account.
async fn listed(client: &Client) -> Vec<String> {
    let items = client.get(LIST).await.body["items"].clone();
    let ids = items.as_array().expect("items").iter().map(|item| item["paymentId"].as_str().expect("an id").to_owned());
    ids.collect()
}

fn id(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["paymentId"].as_str().expect("an id").to_owned()
}

fn assert_moved(answer: &Answer, to: &str) {
    assert_problem(answer, 404, "payment-moved");
    assert_eq!(answer.body["movedTo"], to);
}

async fn pointers(stack: &Stack) -> Vec<Row> {
    rows(stack, "PaymentScheduler", "MovedPayment").await
}

#[tokio::test]
async fn new_data_updates_the_payment_once() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let path = scheduled(&stack, |_| {}).await;
    let before = client.get(&path).await.body;
    let amend = async |data: &Value| client.patch(&path, &json!({"data": data, "scheduledTime": TIME})).await;
    for data in [json!({"amount": "2.00"}), json!({"amount": "2.00"}), Value::Null, json!("text")] {
        let answer = amend(&data).await;
        let mut expected = before.clone();
        (expected["data"], expected["changedBy"]) = (data, local_operator());
        assert_eq!((answer.status, &answer.body), (200, &expected));
        assert_eq!(client.get(&path).await.body, expected);
    }
    let stored = payments(&stack).await;
    assert_eq!((stored.len(), stored[0]["Version"].as_str()), (1, "4"), "the same data changes nothing");
    assert_problem(&amend(&json!("x".repeat(8_000))).await, 413, "too-large");
    client.patch(&path, &json!({"status": "PENDING"})).await;
    assert_problem(&amend(&json!(1)).await, 409, "status-conflict");
    assert_problem(&client.patch(&path, &json!({"scheduledTime": LATER})).await, 409, "status-conflict");
    assert_eq!((client.get(&path).await.body["data"].clone(), pointers(&stack).await), (json!("text"), Vec::new()));
    stack.stop().await;
}

#[tokio::test]
async fn a_new_time_gives_the_payment_a_new_id() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let first = scheduled(&stack, |_| {}).await;
    let old = client.get(&first).await.body;
    let wanted = json!({"scheduledTime": LATER, "data": [1]});
    let answer = client.patch(&first, &wanted).await;
    let second = id(&answer);
    assert!(second.starts_with("20991202T100000Z-"), "{second}");
    let mut expected = old.clone();
    (expected["paymentId"], expected["scheduledTime"], expected["data"]) = (json!(second), json!(LATER), json!([1]));
    expected["changedBy"] = local_operator();
    assert_eq!(answer.body, expected);
    assert_eq!(client.get(&path(&second)).await.body, expected);
    assert_eq!(listed(&client).await, [second.as_str()]);
    let of_day = async |day: &str| client.get(&format!("/bank/days/{day}")).await.body["counts"]["SCHEDULED"].clone();
    assert_eq!((of_day("2099-12-01").await, of_day("2099-12-02").await), (json!(0), json!(1)));
    // The same request has the same response. Any other request gets the new id.
    assert_eq!(client.patch(&first, &wanted).await.body, expected);
    for other in [
        json!({"scheduledTime": LATER}),
        json!({"scheduledTime": LATER, "data": [2]}),
        json!({"scheduledTime": TIME, "data": [1]}),
        json!({"data": [1]}),
        json!({"status": "CANCELLED"}),
        json!({"status": "PROCESSED", "transactionId": "T-1"}),
    ] {
        assert_moved(&client.patch(&first, &other).await, &second);
    }
    assert_moved(&client.get(&first).await, &second);
    // A payment that returns to its first time has a third id.
    let third = id(&client.patch(&path(&second), &json!({"scheduledTime": TIME})).await);
    assert_eq!(listed(&client).await, [third.as_str()]);
    assert!(first != path(&third));
    assert_moved(&client.get(&first).await, &second);
    assert_moved(&client.patch(&first, &wanted).await, &second);
    assert_moved(&client.get(&path(&second)).await, &third);
    assert_eq!((pointers(&stack).await.len(), payments(&stack).await.len()), (2, 1));
    let cancelled = client.patch(&path(&third), &json!({"status": "CANCELLED"})).await;
    assert_eq!(cancelled.body["status"], "CANCELLED");
    assert_eq!(archive(&client, "2099-12-31").await, 1);
    assert_eq!(client.get(&path(&third)).await.body, cancelled.body);
    stack.stop().await;
}

#[tokio::test]
async fn a_new_time_is_today_or_later_and_not_just_after_the_payment_was_scheduled() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let at = |now: &str| At::new(&stack, &client, time(now));
    let new = json!({"scheduledTime": TIME, "data": 1});
    let schedule = async |now: &str| at(now).post_once("/bank/accounts/A-1/payments", "K", &new).await;
    let first = schedule("2099-11-30T12:00:00Z").await;
    let own = first.headers["location"].to_str().expect("text").to_owned();
    let amend = async |now: &str, to: &str| at(now).patch(&own, &json!({"scheduledTime": to})).await;
    let past = amend("2099-12-02T00:00:00Z", TIME).await;
    assert_eq!(past.status, 200, "the same time is no new time");
    let past = amend("2099-12-02T00:00:00Z", "2099-12-01T23:59:59Z").await;
    assert_problem(&past, 400, "invalid-request");
    assert_eq!(past.body["errors"][0]["pointer"], "/body/scheduledTime");
    // An attempt of the SDK to put the payment may arrive late. New data needs no such wait.
    let early = amend("2099-11-30T12:00:14Z", LATER).await;
    assert_problem(&early, 503, "unavailable");
    assert!(early.headers.contains_key("retry-after"));
    assert_eq!(at("2099-11-30T12:00:00Z").patch(&own, &json!({"data": 2})).await.status, 200);
    let moved = amend("2099-11-30T12:00:15Z", LATER).await;
    let second = id(&moved);
    // A repeat of the request that scheduled the payment, or of its amendment, schedules nothing.
    let again = schedule("2099-11-30T13:00:00Z").await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(amend("2099-12-09T00:00:00Z", LATER).await.body, moved.body, "the time may be past by now");
    assert_eq!(listed(&client).await, [second.as_str()]);
    stack.stop().await;
}

#[tokio::test]
async fn only_the_owner_amends_and_data_of_a_customer_debits_no_other_account() {
    let stack = stack().auth(Auth::Required).start().await.expect("a stack");
    let [operator, customer, other] = [("bank:operate", ""), ("bank:write", "A-1"), ("bank:write", "A-2")]
        .map(|(scope, account)| Client::caller(&stack, scope, &[account]));
    let change = |payment: &mut Payment| {
        payment.data = serde_json::from_value(json!("{\"amount\":1}")).expect("data");
        payment.by_operator = true;
    };
    let path = scheduled(&stack, change).await;
    let by_operator = async || payments(&stack).await[0].get("ByOperator").map(String::as_str) == Some("1");
    for body in [json!({"data": 2}), json!({"scheduledTime": LATER})] {
        assert_problem(&other.patch(&path, &body).await, 403, "forbidden");
    }
    for (client, body, expected) in [
        (&customer, json!({"data": {"amount": 1}}), true),
        (&customer, json!({"data": {"amount": 2}}), false),
        (&operator, json!({"data": {"amount": 2}}), false),
        (&operator, json!({"data": {"amount": 3}}), true),
    ] {
        assert_eq!(client.patch(&path, &body).await.status, 200);
        assert_eq!(by_operator().await, expected, "{body}");
    }
    // A new time keeps the right of the data.
    let second = id(&customer.patch(&path, &json!({"scheduledTime": LATER})).await);
    assert!(by_operator().await);
    let third = json!({"scheduledTime": TIME, "data": 1});
    id(&customer.patch(&self::path(&second), &third).await);
    assert!(!by_operator().await);
    stack.stop().await;
}

#[tokio::test]
async fn concurrent_amendments_and_claims_leave_one_payment() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    for round in 0..5 {
        let path = scheduled(&stack, |_| {}).await;
        let bodies = [
            json!({"scheduledTime": LATER}),
            json!({"scheduledTime": LATER}),
            json!({"scheduledTime": "2099-12-03T10:00:00Z"}),
            json!({"data": round}),
            json!({"status": "PENDING"}),
        ];
        let answers = join_all(bodies.iter().map(|body| client.patch(&path, body)));
        let (answers, list) = join!(answers, client.get(LIST));
        assert!(list.body["items"].as_array().is_some_and(|items| items.len() == round + 1), "{}", list.body);
        let is_known = |answer: &Answer| matches!(answer.status, 200 | 404 | 409 | 503);
        assert!(answers.iter().all(is_known), "{:?}", answers.iter().map(|answer| &answer.body).collect::<Vec<_>>());
        assert_eq!(payments(&stack).await.len(), round + 1);
        let moves = [&answers[0], &answers[2]].into_iter().filter(|answer| answer.status == 200).count();
        assert!(moves <= 1, "a payment got two new times");
    }
    stack.stop().await;
}
