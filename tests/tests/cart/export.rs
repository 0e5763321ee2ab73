//! Tests the path of cart changes: from the stream, through the exporter and the delivery stream,
//! to the files of the lake.

use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};
use system_tests::{
    Client,
    cart::{product, put_products, stocked},
    parsed, send, stack, template_of,
};

const DAY: i64 = 24 * 60 * 60;

/// Waits until the exporter has processed all earlier changes.
async fn exported(client: &Client) {
    for _ in 0..1_000 {
        let streams = client.get("/_local/streams").await.body;
        let mut mappings = streams["mappings"].as_array().expect("mappings").iter();
        let mapping =
            mappings.find(|mapping| mapping["function"] == "export-cart-changes").expect("the exporter's mapping");
        assert_eq!((&mapping["failedBatches"], &mapping["givenUp"]), (&json!(0), &json!(0)), "{mapping}");
        if mapping["pending"] == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    unreachable!("the export did not finish");
}

/// Reads all rows of the lake.
fn rows(lake: &Path) -> Vec<Value> {
    let folder = lake.join("local-lake-lake").join("cart-changes");
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
    let order = client.post("/cart/accounts/Ann/checkout", &json!({})).await.body;
    let order = order["orderId"].as_str().expect("an id").to_owned();
    change(&left, json!({"status": "ACTIVE"})).await;
    let path = format!("/cart/accounts/Ann/orders/{order}");
    assert_eq!(client.patch(&path, &json!({"status": "SHIPPED"})).await.status, 200);
    let expired = client.post("/_local/ttl", &json!({"now": jiff::Timestamp::now().as_second() + 40 * DAY})).await;
    assert!(expired.body["deleted"].as_u64() > Some(0), "{}", expired.body);
    exported(&client).await;

    let rows = rows(stack.lake());
    let ids: BTreeSet<&str> = rows.iter().map(|row| row["event_id"].as_str().expect("an id")).collect();
    assert_eq!(ids.len(), rows.len(), "rows must not be repeated without a failure");
    let story = |item: &str| story(&rows, item);
    assert_eq!(
        told(&story(&tea)),
        [
            ("insert", Some("ACTIVE")),
            ("modify", Some("ACTIVE")),
            ("move", Some("PURCHASED")),
            ("move", Some("SHIPPED"))
        ]
    );
    assert_eq!(told(&story(&cup)), [("insert", Some("ACTIVE")), ("move", Some("SAVED")), ("move", Some("JOINED"))]);
    let bought = [
        ("insert", Some("ACTIVE")),
        ("modify", Some("ACTIVE")),
        ("move", Some("PURCHASED")),
        ("move", Some("SHIPPED")),
    ];
    assert_eq!(told(&story(&cup_again)), bought);
    assert_eq!(told(&story(&pot)), [("insert", Some("ACTIVE")), ("remove", None)], "a removal has one row");
    let moves = [("insert", Some("ACTIVE")), ("move", Some("SAVED")), ("move", Some("ACTIVE")), ("expire", None)];
    assert_eq!(told(&story(&left)), moves, "a TTL deletion is not a removal");
    let order = rows.iter().filter(|row| row["order_id"] == *order).map(|row| (&row["price"], &row["quantity"]));
    assert_eq!(order.collect::<Vec<_>>(), [(&json!("4.50"), &json!(4)); 4]);
    stack.stop().await;
}

/// The Glue table must have the columns of a row, in order.
#[test]
fn glue_table_has_the_columns_of_a_row() {
    let template = template_of("lake");
    let (_, columns) = template.split_once("          Columns:\n").expect("the columns");
    let columns = columns.lines().map_while(|line| line.trim().strip_prefix("- {Name: "));
    let named: Vec<(String, String)> = columns
        .map(|column| {
            let (name, rest) = column.split_once(", Type: ").expect("a type");
            let (kind, _) = rest.split_once(", Comment").expect("a comment");
            (name.to_owned(), kind.trim_matches('"').to_owned())
        })
        .collect();
    let written = export::COLUMNS.map(|(name, kind)| (name.to_owned(), kind.to_owned()));
    assert_eq!(named, written);
    let of_each: BTreeMap<_, _> = named.into_iter().collect();
    assert_eq!(of_each.len(), written.len(), "a column is declared twice");
}
