//! Tests the path of changes on the local stack: from the streams, through the exporter and the
//! delivery streams, to the files of the lake.

use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};
use system_tests::{
    Client, bank,
    cart::{product, put_products, stocked},
    drained,
    ledger::{Books, Item},
    parsed, send, stack, until,
};

const DAY: i64 = 24 * 60 * 60;

/// Reads all rows of a table.
pub(crate) fn rows(lake: &Path, table: &str) -> Vec<Value> {
    let folder = lake.join("local-lake-lake").join("changes").join(table);
    let hours = fs::read_dir(folder).into_iter().flatten().map(|hour| hour.expect("an hour").path());
    let files = hours.flat_map(|hour| fs::read_dir(hour).expect("files")).map(|file| file.expect("a file").path());
    let text: String = files.map(|file| fs::read_to_string(file).expect("text")).collect();
    text.lines().map(|row| serde_json::from_str(row).expect("a row")).collect()
}

/// Returns the version, operation and status of each row of one item, sorted by version.
fn story(rows: &[Value], item: &str) -> Vec<(i64, String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let of_item = rows.iter().filter(|row| row["item_id"] == item);
    let mut story: Vec<_> = of_item
        .map(|row| {
            let version = row["version"].as_i64().expect("a version");
            (version, text(&row["operation"]).expect("an operation"), text(&row["status"]))
        })
        .collect();
    story.sort();
    story
}

fn told(story: &[(i64, String, Option<String>)]) -> Vec<(&str, Option<&str>)> {
    story.iter().map(|(_, operation, status)| (operation.as_str(), status.as_deref())).collect()
}

#[tokio::test]
async fn every_change_of_a_cart_is_one_row_of_the_lake() {
    let stack = stocked(stack().parameter("ExportWindowSeconds", "0")).await;
    let client = Client::operator(&stack);
    let price = money::Money::new(parsed("4.50"), parsed("EUR")).expect("a price");
    let skus = ["tea", "cup", "pot", "left"];
    put_products(&stack, skus.map(|sku| cart::Product { price, ..product(sku) })).await;
    let items = "/cart/accounts/Ann/items";
    let add = async |sku: &str| {
        let answer = client.post(items, &json!({"sku": sku, "quantity": 2})).await;
        answer.body["itemId"].as_str().expect("an id").to_owned()
    };
    let (tea, cup, pot, left) = (add("tea").await, add("cup").await, add("pot").await, add("left").await);
    add("tea").await;
    let change = async |item: &str, body: Value| client.patch(&format!("{items}/{item}"), &body).await;
    change(&cup, json!({"status": "SAVED"})).await;
    let cup_again = add("cup").await;
    change(&cup, json!({"status": "ACTIVE"})).await;
    send(client.request("DELETE", &format!("{items}/{pot}"))).await;
    change(&left, json!({"status": "SAVED"})).await;
    let dearer = money::Money::new(parsed("5.00"), parsed("EUR")).expect("a price");
    put_products(&stack, [cart::Product { price: dearer, ..product("tea") }]).await;
    let order = client.post("/cart/accounts/Ann/checkout", &json!({"expectedTotal": "38.00"})).await.body;
    let order = order["orderId"].as_str().expect("an id");
    change(&left, json!({"status": "ACTIVE"})).await;
    let path = format!("/cart/accounts/Ann/orders/{order}");
    assert_eq!(client.patch(&path, &json!({"status": "SHIPPED"})).await.status, 200);
    let expired = client.post("/_local/ttl", &json!({"now": jiff::Timestamp::now().as_second() + 40 * DAY})).await;
    assert!(expired.body["deleted"].as_u64() > Some(0), "{}", expired.body);
    drained(&client, "export-changes").await;

    let orders = rows(stack.lake(), "orders");
    let told_orders: Vec<_> = orders.iter().map(|row| (&row["operation"], &row["status"], &row["total"])).collect();
    let placed = (&json!("insert"), &json!("PLACED"), &json!("38.00"));
    assert_eq!(told_orders, [placed, (&json!("modify"), &json!("SHIPPED"), &json!("38.00"))]);
    let rows = rows(stack.lake(), "cart-items");
    let ids: BTreeSet<&str> = rows.iter().map(|row| row["event_id"].as_str().expect("an id")).collect();
    assert_eq!(ids.len(), rows.len(), "rows must not be repeated without a failure");
    let story = |item: &str| story(&rows, item);
    let bought = [
        ("insert", Some("ACTIVE")),
        ("modify", Some("ACTIVE")),
        ("move", Some("PURCHASED")),
        ("move", Some("SHIPPED")),
    ];
    assert_eq!(told(&story(&tea)), bought);
    assert_eq!(told(&story(&cup)), [("insert", Some("ACTIVE")), ("move", Some("SAVED")), ("move", Some("JOINED"))]);
    assert_eq!(told(&story(&cup_again)), bought);
    assert_eq!(told(&story(&pot)), [("insert", Some("ACTIVE")), ("remove", None)], "a removal has one row");
    let moves = [("insert", Some("ACTIVE")), ("move", Some("SAVED")), ("move", Some("ACTIVE")), ("expire", None)];
    assert_eq!(told(&story(&left)), moves, "a TTL deletion is not a removal");
    let sold = rows.iter().filter(|row| row["item_id"] == *tea && row["order_id"] == *order);
    let prices: Vec<_> = sold.map(|row| (&row["old_price"], &row["price"], &row["quantity"])).collect();
    let (before, after, four) = (&json!("4.50"), &json!("5.00"), &json!(4));
    assert_eq!(prices, [(before, after, four), (after, after, four)], "the checkout charges the current price");
    stack.stop().await;
}

/// Schedules, executes, cancels and archives payments, and posts to a grouped account.
async fn pay(books: &Books) -> (Value, Value) {
    let Books { operator, .. } = books;
    let (ann, shop) = (books.funded("ann", "100.00").await, books.account("shop").await);
    let grouped = operator.patch(&format!("/ledger/accounts/{shop}"), &json!({"posting": "grouped"})).await;
    assert_eq!(grouped.status, 200, "{}", grouped.body);
    let data = json!({"creditAccountId": shop, "amount": "9.50", "currency": "USD"});
    let body = json!({"scheduledTime": "2099-12-01T09:30:00Z", "data": data});
    let path = format!("/bank/accounts/{ann}/payments");
    let (paid, cancelled) = (operator.post(&path, &body).await.body, operator.post(&path, &body).await.body);
    bank::bring_to(operator, &cancelled, "CANCELLED", "").await;
    let event = json!({"detail-type": "Scheduled Event", "time": "2099-12-01T09:30:00Z"});
    operator.invoke("dispatch-due-payments", &event).await;
    until(operator, &bank::path(&paid), |answer| answer.body["status"] == "PROCESSED").await;
    until(operator, &format!("/ledger/accounts/{shop}"), |answer| answer.body["balance"] == "9.50").await;
    let other = operator.post(&path, &body).await.body;
    assert_eq!(bank::archive(operator, "2099-12-01").await, 2, "the third payment stays");
    drained(operator, "export-changes").await;
    (paid, other)
}

#[tokio::test]
async fn changes_of_payments_and_of_the_ledger_are_rows() {
    let stack = stack().parameter("ExportWindowSeconds", "0").start().await.expect("a stack");
    let books = Books::of(stack).await;
    let (paid, other) = pay(&books).await;
    let lake = books.stack.lake();

    let payments = rows(lake, "payments");
    let of = |payment: &Value| -> Vec<&Value> {
        payments.iter().filter(|row| row["payment_id"] == payment["paymentId"]).collect()
    };
    let versions: Vec<_> = of(&paid).iter().map(|row| row["version"].as_i64().expect("a version")).collect();
    assert_eq!(versions, (1..=4).collect::<Vec<_>>(), "scheduled, dispatched, executed, archived");
    let statuses: Vec<_> = of(&paid).iter().map(|row| row["status"].as_str()).collect();
    assert_eq!(statuses, [Some("SCHEDULED"), Some("PENDING"), Some("PROCESSED"), None]);
    let last = of(&paid)[3];
    assert_eq!((&last["operation"], &last["old_status"]), (&json!("remove"), &json!("PROCESSED")), "{last}");
    let processed = of(&paid)[2];
    assert_eq!((&processed["amount"], &processed["currency"]), (&json!("9.50"), &json!("USD")), "{processed}");
    assert_eq!(of(&other).len(), 1, "{other}");

    let archived: BTreeMap<_, _> = rows(lake, "archived-payments")
        .into_iter()
        .map(|row| (row["status"].as_str().expect("a status").to_owned(), row))
        .collect();
    assert_eq!(archived.keys().collect::<Vec<_>>(), ["CANCELLED", "PROCESSED"]);
    assert_eq!(archived["PROCESSED"]["payment_id"], paid["paymentId"]);

    let legs = rows(lake, "ledger-legs");
    let transactions = rows(lake, "ledger-transactions");
    assert_eq!((transactions.len(), legs.len()), (2, 5), "two transactions with two legs, and one posting");
    let posting: Vec<_> = legs.iter().filter(|leg| leg["entry"] == "posting").collect();
    assert_eq!(
        (&posting[0]["balance_after"], posting[0]["posted_at"].is_string()),
        (&json!("9.5"), true),
        "{posting:?}"
    );
    let id = &archived["PROCESSED"]["transaction_id"];
    let of_payment: Vec<_> = legs.iter().filter(|leg| leg["transaction_id"] == *id).collect();
    assert_eq!(of_payment.len(), 3, "a debit, a grouped credit and its posting: {of_payment:?}");
    assert_eq!(books.stored().await.iter().filter(|item| is_exported(item)).count(), legs.len() + transactions.len());
    books.stack.stop().await;
}

fn is_exported(item: &Item) -> bool {
    let kind = item["Type"].as_s().expect("a type").as_str();
    ["TransactionLeg", "Posting", "Transaction"].contains(&kind)
}
