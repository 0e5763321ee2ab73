//! Sample carts: the products and the five cart items of docs/requirements/cart.md#example-rows, in
//! the same order. Their creation time is the time of the load.
use http::StatusCode;
use serde_json::json;

use super::{SampleError, expect};
use crate::client::{Call, Client};

struct Row {
    account: &'static str,
    sku: &'static str,
    /// Name of the product. The example has no names.
    name: &'static str,
    price: &'static str,
    /// Status.
    status: &'static str,
}

const ROWS: [Row; 5] = [
    Row { account: "Sue", sku: "ef9ca", name: "Candle", price: "4.99", status: "ACTIVE" },
    Row { account: "Sue", sku: "b932s", name: "Desk lamp", price: "67.99", status: "ACTIVE" },
    Row { account: "Sue", sku: "72f49", name: "Garden chair", price: "12.49", status: "SAVED" },
    Row { account: "Chad", sku: "72f49", name: "Garden chair", price: "12.49", status: "ACTIVE" },
    Row { account: "Liz", sku: "d9bl3", name: "Tea set", price: "34.99", status: "SHIPPED" },
];

/// Adds the missing cart items. Returns the number of cart items, including items from earlier
/// loads in the last week.
pub(super) async fn load(client: &Client) -> Result<usize, SampleError> {
    for row in &ROWS {
        let product = json!({"name": row.name, "price": row.price, "currency": "USD"});
        let call = Call::put(format!("/cart/products/{}", row.sku), product);
        let reply = client.send(&call).await?;
        expect(&call, reply, &[StatusCode::CREATED, StatusCode::OK])?;
        let path = format!("/cart/accounts/{}/items", row.account);
        let body = json!({"sku": row.sku, "quantity": 1});
        let call = Call::post(&path, body).key(format!("sample-{}", row.sku));
        let reply = client.send(&call).await?;
        let reply = expect(&call, reply, &[StatusCode::CREATED, StatusCode::OK])?;
        if row.status == "SHIPPED" {
            ship(client, row.account).await?;
        } else if row.status != "ACTIVE" {
            let item = reply.body["itemId"].as_str().unwrap_or_default();
            let call = Call::patch(format!("{path}/{item}"), json!({"status": row.status}));
            let reply = client.send(&call).await?;
            // A cart item from an earlier start may have been removed or purchased in the meantime.
            expect(&call, reply, &[StatusCode::OK, StatusCode::CONFLICT, StatusCode::NOT_FOUND])?;
        }
    }
    Ok(ROWS.len())
}

/// Buys the cart of the account, and ships the order. A repeated load finds the same order.
async fn ship(client: &Client, account: &str) -> Result<(), SampleError> {
    let call = Call::post(format!("/cart/accounts/{account}/checkout"), json!({})).key("sample-order");
    let reply = client.send(&call).await?;
    let reply = expect(&call, reply, &[StatusCode::OK])?;
    let order = reply.body["orderId"].as_str().unwrap_or_default();
    let call = Call::patch(format!("/cart/accounts/{account}/orders/{order}"), json!({"status": "SHIPPED"}));
    let reply = client.send(&call).await?;
    // The order may have been delivered since an earlier load.
    expect(&call, reply, &[StatusCode::OK, StatusCode::CONFLICT]).map(drop)
}
