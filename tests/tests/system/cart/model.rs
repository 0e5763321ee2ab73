//! Adds the example rows of the data model at the times in the rows, and runs the queries of the
//! data model (docs/requirements/cart.md#example-rows). Some rows contradict themselves.
//! docs/decisions/cart-model.md explains how these contradictions are resolved.

use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};
use system_tests::{
    cart::{Shop, items_of, path},
    clock::time,
    root,
};

/// Row of the data model.
#[derive(Debug)]
struct Row {
    customer: String,
    /// `Status#Date`, the sort key of the table and of its index.
    sort: String,
    sku: String,
    price: String,
    count: u32,
    /// Attribute `Status`, which the queries of the data model do not use.
    said: String,
}

impl Row {
    fn of(item: &Value) -> Self {
        let text = |name: &str| item[name]["S"].as_str().expect("a text").to_owned();
        Self {
            customer: text("CustomerID"),
            sort: text("Status#Date"),
            sku: text("ItemSKU"),
            price: text("Price"),
            count: text("Count").parse().expect("a number"),
            said: text("Status"),
        }
    }

    /// Status in the sort key.
    fn status(&self) -> String {
        self.parts().0.to_uppercase()
    }

    /// Time in the sort key, in UTC.
    fn since(&self) -> String {
        format!("{}.000Z", self.parts().1)
    }

    fn parts(&self) -> (&str, &str) {
        self.sort.split_once('#').expect("a status and a time")
    }

    /// Expected cart item in a response.
    fn cart_item(&self) -> Value {
        json!({
            "accountId": self.customer, "sku": self.sku, "name": self.sku, "quantity": self.count, "price": self.price, "currency": "USD",
            "status": self.status(), "addedAt": self.since(), "statusChangedAt": self.since(),
        })
    }
}

fn model() -> Vec<Row> {
    let text = fs::read_to_string(root().join("tests/data/CartModel.json")).expect("the model");
    let model: Value = serde_json::from_str(&text).expect("JSON");
    model["DataModel"][0]["TableData"].as_array().expect("rows").iter().map(Row::of).collect()
}

/// Runs a query of the data model: the rows with a partition key and a prefix of the sort key,
/// newest first.
fn query<'a>(model: &'a [Row], prefix: &str, is_key: impl Fn(&Row) -> bool) -> Vec<&'a Row> {
    let mut found: Vec<_> = model.iter().filter(|row| is_key(row) && row.sort.starts_with(prefix)).collect();
    found.sort_by(|one, two| two.sort.cmp(&one.sort));
    found
}

/// Removes the ids that the service generated.
fn anonymous(mut cart_item: Value) -> Value {
    let members = cart_item.as_object_mut().expect("an object");
    let order = members.remove("orderId");
    assert!(members.remove("itemId").is_some_and(|id| id.is_string()));
    assert_eq!(order.is_some(), members["status"] == "SHIPPED", "{members:?}");
    cart_item
}

/// Starts a shop and adds each row at its own time. `CartDays` is high, so that no row expires
/// before the last row is added.
async fn filled(model: &[Row]) -> Shop {
    let shop = Shop::open(365).await;
    for row in model {
        let at = shop.at(time(&row.since()));
        let product = json!({"name": row.sku, "price": row.price, "currency": "USD"});
        let put = shop.now.put(&format!("/cart/products/{}", row.sku), &product).await;
        assert!(put.status < 300, "{row:?}: {}", put.body);
        let new = json!({"sku": row.sku, "quantity": row.count});
        let added = at.post(&items_of(&row.customer), &new).await;
        assert_eq!(added.status, 201, "{row:?}: {}", added.body);
        let cart_item = at.bring_to(&added.body, &row.status()).await;
        assert_eq!(at.get(&path(&cart_item)).await.body, cart_item);
        assert_eq!(anonymous(cart_item), row.cart_item());
    }
    shop
}

#[tokio::test]
async fn lists_return_the_example_rows_in_order() {
    let model = model();
    assert_eq!(model.len(), 5);
    let shop = filled(&model).await;
    let last = model.iter().map(|row| time(&row.since())).max().expect("a row");
    let at = shop.at(last);
    let cart_items = |rows: Vec<&Row>| rows.into_iter().map(Row::cart_item).collect::<Vec<_>>();
    let bare = |cart_items: Vec<Value>| cart_items.into_iter().map(anonymous).collect::<Vec<_>>();
    let customers: BTreeSet<_> = model.iter().map(|row| row.customer.as_str()).collect();
    let skus: BTreeSet<_> = model.iter().map(|row| row.sku.as_str()).collect();
    let mut found = 0;
    for (status, prefix) in [("ACTIVE", "Active#"), ("SAVED", "Saved#"), ("SHIPPED", "Shipped#")] {
        for customer in &customers {
            let wanted = cart_items(query(&model, prefix, |row| row.customer == *customer));
            found += wanted.len();
            assert_eq!(bare(at.of_account(customer, status).await), wanted, "{status} of {customer}");
        }
        for sku in &skus {
            let wanted = cart_items(query(&model, prefix, |row| row.sku == *sku));
            found += wanted.len();
            assert_eq!(bare(at.of_sku(sku, status).await), wanted, "{status} of {sku}");
        }
    }
    assert_eq!(found, 2 * model.len(), "every row is in one customer list and one product list");
    // Access pattern 3 has a second query: the rows of a product on one day.
    for row in &model {
        let (sku, status, day) = (&row.sku, row.status(), &row.parts().1[..10]);
        let of_day = at.all(&format!("/cart/skus/{sku}/items?status={status}&date={day}")).await.0;
        let prefix = format!("{}#{day}T", row.parts().0);
        assert_eq!(bare(of_day), cart_items(query(&model, &prefix, |other| other.sku == *sku)), "{sku} on {day}");
    }
    shop.stack.stop().await;
}

#[test]
fn example_rows_have_the_documented_contradictions() {
    let contradicts = |row: &&Row| row.said != row.parts().0;
    let model = model();
    let contradictions: Vec<_> = model.iter().filter(contradicts).map(|row| (&*row.sort, &*row.said)).collect();
    assert_eq!(
        contradictions,
        [
            ("Shipped#2019-11-26T22:46:26", "Saved"),
            ("Saved#2019-10-07T08:24:22", "Active"),
            ("Active#2019-10-05T10:07:17", "Saved"),
        ]
    );
}

#[tokio::test]
async fn list_of_an_example_customer_is_in_order() {
    let shop = filled(&model()).await;
    let at = shop.at(time("2019-11-26T22:46:26Z"));
    let skus = |cart_items: Vec<Value>| cart_items.iter().map(|cart_item| cart_item["sku"].clone()).collect::<Vec<_>>();
    assert_eq!(skus(at.of_account("Sue", "ACTIVE").await), ["b932s", "ef9ca"]);
    assert_eq!(skus(at.of_account("Sue", "SAVED").await), ["72f49"]);
    assert_eq!(skus(at.of_account("Liz", "SHIPPED").await), ["d9bl3"]);
    shop.stack.stop().await;
}
