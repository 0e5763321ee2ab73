//! Demo of the cart: puts products, adds, saves, removes and purchases cart items, and ships
//! orders.
use http::{Method, StatusCode};
use serde_json::json;

use super::{CliError, Guide, Step, check};
use crate::client::{Call, Reply};

const ITEMS: &str = "/cart/accounts/Ann/items";
const CHECKOUT: &str = "/cart/accounts/Ann/checkout";
const ORDERS: &str = "/cart/accounts/Ann/orders";

impl Guide {
    pub(super) async fn cart(&self) -> Result<(), CliError> {
        self.offer().await?;
        let (shoes, socks) = self.fill().await?;
        self.keep_for_later(&shoes).await?;
        self.take_out(&socks).await?;
        self.buy(&shoes).await?;
        self.buy_many().await?;
        self.merge().await?;
        // The stream passes all changes above to the export function. This function writes rows to
        // the delivery stream.
        let what = "Progress of the export, which writes rows to the lake";
        self.handed_on(what, "export-changes").await?;
        self.refresh().await
    }

    /// Calls the functions of the workflow that refreshes the lake.
    async fn refresh(&self) -> Result<(), CliError> {
        for (name, what) in [
            ("convert-export", "Convert an empty file of an export"),
            ("plan-refresh", "Get the SQL that verifies and refreshes a table of the lake"),
        ] {
            let event = self.events.event(name)?;
            let call = Call::post(format!("/_local/functions/{name}/invocations"), event);
            let reply = self.step(Step { what, call, status: StatusCode::OK }).await?;
            check(!reply.headers.contains_key("x-amz-function-error"), "the function must succeed")?;
        }
        Ok(())
    }

    async fn offer(&self) -> Result<(), CliError> {
        for (what, sku, name, price) in [
            ("Put a product into the shop", "shoes-42", "Shoes", "89.90"),
            ("Put another product into the shop", "socks-42", "Socks", "4.50"),
        ] {
            let call =
                Call::put(format!("/cart/products/{sku}"), json!({"name": name, "price": price, "currency": "USD"}));
            self.step(Step { what, call, status: StatusCode::CREATED }).await?;
        }
        let reply = self.get("Get a product", "/cart/products/shoes-42").await?;
        check(reply.body["version"] == 1, "the product must have its first version")?;
        self.get("List the products", "/cart/products").await.map(drop)
    }

    async fn fill(&self) -> Result<(String, String), CliError> {
        let first = self.post("Add shoes to the cart", ITEMS, json!({"sku": "shoes-42"})).await?;
        let socks = json!({"sku": "socks-42", "quantity": 2});
        let second = self.post("Add socks to the cart", ITEMS, socks).await?;
        let call = Call::post(ITEMS, json!({"sku": "shoes-42", "quantity": 1})).key("demo-shoes");
        let what = "Add another pair of shoes, with an idempotency key";
        for what in [what, "Retry the request: the response is the same, and no third pair is added"] {
            let step = Step { what, call: call.clone(), status: StatusCode::OK };
            let reply = self.step(step).await?;
            check(reply.body["quantity"] == 2, "the cart item must have two pairs")?;
        }
        let (first, second) = (item(&first), item(&second));
        let reply = self.get("List the cart, newest first", ITEMS).await?;
        check(items(&reply) == [second.as_str(), &first], "the cart must have both items")?;
        Ok((first, second))
    }

    async fn keep_for_later(&self, shoes: &str) -> Result<(), CliError> {
        let path = format!("{ITEMS}/{shoes}");
        self.patch("Change the quantity to three", &path, json!({"quantity": 3})).await?;
        self.patch("Save the shoes for later: the id stays the same", &path, json!({"status": "SAVED"})).await?;
        let reply = self.get("List the saved items", &format!("{ITEMS}?status=SAVED")).await?;
        check(items(&reply) == [shoes], "the list must have the shoes")?;
        self.patch("Move the shoes back into the cart", &path, json!({"status": "ACTIVE"})).await?;
        let reply = self.get("Get a cart item by its id", &path).await?;
        check(
            reply.body["quantity"] == 3 && reply.body["status"] == "ACTIVE",
            "the cart item must be active, with its quantity",
        )
    }

    async fn take_out(&self, socks: &str) -> Result<(), CliError> {
        let call = Call { method: Method::DELETE, ..Call::get(format!("{ITEMS}/{socks}")) };
        let what = "Remove the socks";
        self.step(Step { what, call, status: StatusCode::NO_CONTENT }).await.map(drop)
    }

    async fn buy(&self, shoes: &str) -> Result<(), CliError> {
        let call = Call::post(CHECKOUT, json!({"expectedTotal": "200.00"}));
        let what = "Check out with another total than the current one";
        let reply = self.step(Step { what, call, status: StatusCode::CONFLICT }).await?;
        check(reply.body["total"] == "269.70", "the problem must have the current total")?;
        let call = Call::post(CHECKOUT, json!({"expectedTotal": "269.70"})).key("demo-order");
        let step = Step { what: "Buy all items of the cart in one transaction", call, status: StatusCode::OK };
        let order = self.step(step).await?;
        check(items(&order) == [shoes], "the order must have the shoes")?;
        let path = "/cart/skus/shoes-42/items?status=PURCHASED";
        let reply = self.get("List the purchases of these shoes, newest first", path).await?;
        check(items(&reply) == [shoes], "the list must have the purchase")?;
        self.get("List the orders, newest first", ORDERS).await?;
        let path = format!("{ORDERS}/{}", order.body["orderId"].as_str().unwrap_or_default());
        self.get("Get the order with its lines", &path).await?;
        self.patch("Ship the order", &path, json!({"status": "SHIPPED"})).await?;
        self.patch("Deliver the order", &path, json!({"status": "DELIVERED"})).await?;
        let call = Call::patch(&path, json!({"status": "CANCELLED"}));
        let what = "Cancel the order, which is too late";
        self.step(Step { what, call, status: StatusCode::CONFLICT }).await.map(drop)
    }

    /// Merges the cart of a guest.
    async fn merge(&self) -> Result<(), CliError> {
        self.client.send(&Call::post("/cart/accounts/guest-1/items", json!({"sku": "socks-42"}))).await?;
        let call = Call::post("/cart/accounts/Ann/merge", json!({"fromAccountId": "guest-1"}));
        let step =
            Step { what: "Merge the cart of a guest into the cart of the account", call, status: StatusCode::OK };
        let reply = self.step(step).await?;
        check(reply.body["merged"] == 1, "the socks must be in the cart of the account")
    }

    /// Buys more items than one transaction can move.
    async fn buy_many(&self) -> Result<(), CliError> {
        for number in 0..33 {
            let (sku, name) = (format!("book-{number}"), format!("Book {number}"));
            let product = json!({"name": name, "price": "9.90", "currency": "USD"});
            self.client.send(&Call::put(format!("/cart/products/{sku}"), product)).await?;
            self.client.send(&Call::post(ITEMS, json!({"sku": sku}))).await?;
        }
        let (what, call) = ("Buy 33 books: a job moves the cart items", Call::post(CHECKOUT, json!({})));
        let order = self.step(Step { what, call, status: StatusCode::OK }).await?;
        self.handed_on("Progress of the job that moves the cart items", "continue-cart-job").await?;
        let job = format!("/cart/jobs/{}-PURCHASED", order.body["orderId"].as_str().unwrap_or_default());
        let reply = self.get("Get the job", &job).await?;
        check(reply.body["status"] == "done" && reply.body["done"] == 33, "the job must have moved all items")?;
        let (what, call) = ("Retry the job, which has not failed", Call::post(format!("{job}/retry"), json!({})));
        self.step(Step { what, call, status: StatusCode::CONFLICT }).await.map(drop)
    }
}

fn item(reply: &Reply) -> String {
    reply.body["itemId"].as_str().unwrap_or_default().to_owned()
}

fn items(reply: &Reply) -> Vec<&str> {
    reply.body["items"].as_array().into_iter().flatten().filter_map(|item| item["itemId"].as_str()).collect()
}
