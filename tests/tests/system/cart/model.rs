//! Adds the example rows of the data model at the times in the rows, and runs the queries of the
//! data model (docs/requirements/cart.md#example-rows). The sort key of a row has its status
//! (docs/decisions/models.md).

use serde_json::{Value, json};
use std::fs;
use system_tests::{
    cart::{Shop, items_of, path},
    clock::time,
    root, text,
};

/// The cart items of the rows, without the ids that the service generates.
fn rows() -> Vec<Value> {
    let model = fs::read_to_string(root().join("tests/data/CartModel.json")).expect("the model");
    let model: Value = serde_json::from_str(&model).expect("JSON");
    let row = |row: &Value| {
        let of = |name: &str| text(&row[name], "S");
        let (status, time) = of("Status#Date").split_once('#').expect("a status and a time");
        json!({
            "accountId": of("CustomerID"), "sku": of("ItemSKU"), "name": of("ItemSKU"), "price": of("Price"), "currency": "USD",
            "quantity": of("Count").parse::<u32>().expect("a number"), "status": status.to_uppercase(),
            "addedAt": format!("{time}.000Z"), "statusChangedAt": format!("{time}.000Z"),
        })
    };
    model["DataModel"][0]["TableData"].as_array().expect("rows").iter().map(row).collect()
}

#[tokio::test]
async fn lists_return_the_example_rows_in_order() {
    // No row expires before the last row is added.
    let shop = Shop::open(365).await;
    let mut rows = rows();
    assert_eq!(rows.len(), 5);
    for row in &rows {
        let product = json!({"name": row["sku"], "price": row["price"], "currency": "USD"});
        let put = shop.now.put(&format!("/cart/products/{}", text(row, "sku")), &product).await;
        assert!(put.status < 300, "{row}: {}", put.body);
        let at = shop.at(time(text(row, "addedAt")));
        let added = at.add(text(row, "accountId"), text(row, "sku"), 1).await;
        let cart_item = at.bring_to(&added, text(row, "status")).await;
        assert_eq!(at.get(&path(&cart_item)).await.body, cart_item);
    }
    rows.sort_by(|one, other| text(other, "addedAt").cmp(text(one, "addedAt")));
    let at = shop.at(time(text(&rows[0], "addedAt")));
    for row in &rows {
        let (account, sku, status) = (text(row, "accountId"), text(row, "sku"), text(row, "status"));
        let lists = [
            ("accountId", format!("{}?status={status}", items_of(account))),
            ("sku", format!("/cart/skus/{sku}/items?status={status}")),
            ("sku", format!("/cart/skus/{sku}/items?status={status}&date={}", &text(row, "addedAt")[..10])),
        ];
        for (name, list) in lists {
            let is_listed = |other: &&Value| other[name] == row[name] && other["status"] == status;
            let mut found = at.all(&list).await.0;
            for item in found.iter_mut().filter_map(Value::as_object_mut) {
                assert_eq!(item.remove("orderId").is_some(), status == "SHIPPED");
                item.remove("itemId");
            }
            assert_eq!(found.iter().collect::<Vec<_>>(), rows.iter().filter(is_listed).collect::<Vec<_>>(), "{list}");
        }
    }
    shop.stack.stop().await;
}
