//! Compares the request units that each access pattern consumes with its declared cost.
//!
//! The tests compare the table and the index separately. They use items of small and maximum size,
//! with and without an idempotency key. They also check the cost of rejected requests.

use super::orders::{job_event, without_jobs};
use aws_sdk_dynamodb::types::AttributeValue;
use cart::{CartItem, Case, MAX_BYTES};
use futures::future::join_all;
use keys::cart::Status;
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, Client,
    cart::{model::Stored, product, stack, stock, stocked},
    patterns::{cost_of, labels},
    units::{Consumed, consumed, declared},
    unreadable::{DAMAGES, damage, text as attribute},
};
use table::{
    Units,
    cost::{read, read_eventually},
};

const ITEMS: &str = "/cart/accounts/A-1/items";
const CHECKOUT: &str = "/cart/accounts/A-1/checkout";

/// Stack, and the names of the access patterns that were measured on it.
struct Measured {
    stack: Stack,
    client: Client,
    functions: BTreeSet<String>,
}

impl Measured {
    async fn start() -> Self {
        Self::of(stocked(stack()).await).await
    }

    async fn of(stack: Stack) -> Self {
        stock(&stack, (0..100).map(sku)).await;
        Self { client: Client::operator(&stack), stack, functions: BTreeSet::new() }
    }

    fn assert(&mut self, function: &str, case: &Case, answer: &Answer) {
        assert!(matches!(answer.status, 200 | 201 | 202 | 204), "{function}: {}", answer.body);
        assert_eq!(consumed(answer), declared(&cost_of(&cart::patterns(), function, case)), "{function} of {case:?}");
        self.functions.insert(function.to_owned());
    }

    /// Returns the input of the cost functions: the size and number of the cart items with a
    /// status, and the size of the idempotency record. All of these cart items must have the same
    /// size.
    async fn case(&self, status: Status, key: Option<&str>) -> Case {
        let stored = Stored::read(&self.stack).await;
        let cart_items: Vec<usize> =
            stored.cart_items.iter().filter(|cart_item| cart_item.sort.status == status).map(bytes).collect();
        let cart_item = cart_items.first().copied().unwrap_or_default();
        assert!(cart_items.iter().all(|bytes| *bytes == cart_item), "items must have the same size: {cart_items:?}");
        let record = key.map(|key| stored.record(key).expect("a record"));
        Case {
            cart_item,
            cart_items: cart_items.len(),
            record: record.map(|record| table::size(record).expect("a size")),
            product: table::size(&product("S-1")).expect("a size"),
            products: 0,
            contents: stored.contents_bytes("A-1"),
            order: stored.orders.first().map_or(0, |order| table::size(order).expect("a size")),
            orders: stored.orders.len(),
            lines: stored.lines.first().map_or(0, |lines| table::size(lines).expect("a size")),
        }
    }

    async fn post(&self, path: &str, key: Option<&str>, body: &Value) -> Answer {
        match key {
            Some(key) => self.client.post_once(path, key, body).await,
            None => self.client.post(path, body).await,
        }
    }

    async fn add(&self, sku: &str, key: Option<&str>) -> Answer {
        self.post(ITEMS, key, &new(sku)).await
    }

    async fn add_some(&self, range: std::ops::Range<usize>) {
        for number in range {
            let added = self.add(&sku(number), None).await;
            assert_eq!(added.status, 201, "{}", added.body);
        }
    }
}

fn bytes(cart_item: &CartItem) -> usize {
    table::size(cart_item).expect("a size")
}

fn new(sku: &str) -> Value {
    json!({"sku": sku})
}

/// Returns a SKU. All SKUs have the same length.
fn sku(number: usize) -> String {
    format!("S-{number:02}-{}", "x".repeat(20))
}

fn escaped(sku: &str) -> String {
    sku.bytes().fold(String::new(), |path, byte| path + &format!("%{byte:02X}"))
}

/// Returns the longest SKU that the cart accepts.
async fn largest() -> String {
    let measured = Measured::start().await;
    let sku = |bytes: usize| "\u{1F455}".repeat(bytes / 4) + &"x".repeat(bytes % 4);
    // The SKU is stored twice: as an attribute and as an index key.
    let (mut fits, mut refused) = (1, MAX_BYTES / 2);
    while refused - fits > 1 {
        let middle = fits.midpoint(refused);
        stock(&measured.stack, [sku(middle)]).await;
        match measured.add(&sku(middle), None).await.status {
            201 => fits = middle,
            status => {
                assert_eq!(status, 413, "{middle} bytes");
                refused = middle;
            }
        }
    }
    sku(fits)
}

fn cart_items(case: Case, cart_items: usize) -> Case {
    Case { cart_items, ..case }
}

#[tokio::test]
async fn a_small_item_consumes_its_declared_cost() {
    let bought = measure_all_patterns("S-1").await;
    assert!(bytes(&bought) < MAX_BYTES / 2);
}

#[tokio::test]
async fn the_largest_item_consumes_its_declared_cost() {
    let bought = measure_all_patterns(&largest().await).await;
    let bytes = bytes(&bought);
    // The reserve is for a checkout at another price, and for larger numbers.
    assert!((MAX_BYTES - 150..=MAX_BYTES).contains(&bytes), "{bytes} bytes: the cart may accept a larger item");
}

/// Measures every access pattern with a route on one cart item, and returns the shipped item. Jobs
/// are measured on a large order.
async fn measure_all_patterns(sku: &str) -> CartItem {
    let mut measured = Measured::start().await;
    let client = measured.client.clone();
    measured.products(sku).await;
    let added = measured.add(sku, None).await;
    let active = measured.case(Status::Active, None).await;
    measured.assert("add-cart-item", &cart_items(active, 0), &added);
    let more = measured.add(sku, None).await;
    measured.assert("add-cart-item, in the cart already", &active, &more);
    let path = added.headers["location"].to_str().expect("text").to_owned();
    let counted = client.patch(&path, &json!({"quantity": 5})).await;
    measured.assert("update-cart-item, quantity", &active, &counted);
    measured.assert("get-cart-item", &active, &client.get(&path).await);
    measured.assert("list-cart-items", &active, &client.get(ITEMS).await);
    let of_sku = format!("/cart/skus/{}/items", escaped(sku));
    measured.assert("list-sku-items", &active, &client.get(&of_sku).await);
    let saved = client.patch(&path, &json!({"status": "SAVED"})).await;
    let case = measured.case(Status::Saved, None).await;
    measured.assert("update-cart-item, to SAVED", &Case { contents: active.contents, ..case }, &saved);
    let counted = client.patch(&path, &json!({"quantity": 6})).await;
    measured.assert("update-cart-item, quantity of a saved item", &case, &counted);
    measured.assert("get-cart-item, saved", &case, &client.get(&path).await);
    measured.assert("list-cart-items, saved", &case, &client.get(&format!("{ITEMS}?status=SAVED")).await);
    let back = client.patch(&path, &json!({"status": "ACTIVE", "quantity": 7})).await;
    measured.assert("update-cart-item, to ACTIVE", &Case { cart_items: 0, contents: active.contents, ..case }, &back);
    client.patch(&path, &json!({"status": "SAVED"})).await;
    measured.add(sku, None).await;
    let joined = client.patch(&path, &json!({"status": "ACTIVE"})).await;
    let case = Case { contents: active.contents, ..case };
    measured.assert("update-cart-item, to ACTIVE, in the cart already", &case, &joined);
    let active = measured.case(Status::Active, None).await;
    let bought = measured.post(CHECKOUT, None, &json!({})).await;
    let purchased = measured.case(Status::Purchased, None).await;
    let case = Case { cart_item: purchased.cart_item, contents: active.contents, ..purchased };
    measured.assert("checkout-cart", &case, &bought);
    let list = client.get(&format!("{ITEMS}?status=PURCHASED")).await;
    measured.assert("list-cart-items, purchased", &purchased, &list);
    measured.orders(&bought, purchased).await;
    measured.removes(sku).await;
    measured.merges(sku).await;
    let labels = labels(&cart::patterns()).into_iter().filter(|label| !OF_JOBS.contains(&label.as_str()));
    assert_eq!(measured.functions, labels.collect(), "a pattern was not measured");
    let shipped = Stored::read(&measured.stack).await.cart_items;
    shipped.into_iter().find(|cart_item| cart_item.sort.status == Status::Shipped).expect("a shipped item")
}

/// Patterns that `a_large_order_and_its_jobs_consume_their_declared_cost` measures.
const OF_JOBS: [&str; 5] = [
    "checkout-cart, over 32 items",
    "update-order, to SHIPPED or CANCELLED, over 32 items",
    "continue-cart-job",
    "get-cart-job",
    "retry-cart-job",
];

impl Measured {
    /// Puts, gets and lists the product.
    async fn products(&mut self, sku: &str) {
        let path = format!("/cart/products/{}", escaped(sku));
        let put = self.client.put(&path, &json!({"name": "Product", "price": "12.50", "currency": "USD"})).await;
        let size = |sku: &str| table::size(&product(sku)).expect("a size");
        let case = Case { product: size(sku), ..self.case(Status::Active, None).await };
        self.assert("put-product", &case, &put);
        let client = self.client.clone();
        self.assert("get-product", &case, &client.get(&path).await);
        let list = client.get("/cart/products?limit=3").await;
        self.assert("list-products", &Case { products: 3, product: size("S-1"), ..case }, &list);
        let again = client.put(&path, &json!({"name": "Product", "price": "12.500", "currency": "USD"})).await;
        assert_eq!((again.status, consumed(&again)), (200, reads("Products", Units::whole(1))), "nothing changes");
    }

    /// Merges the item of a guest into a cart without contents.
    async fn merges(&mut self, sku: &str) {
        let added = self.client.post("/cart/accounts/G-1/items", &new(sku)).await;
        assert_eq!(added.status, 201, "{}", added.body);
        let stored = Stored::read(&self.stack).await;
        let item = stored.cart_items.iter().find(|item| item.account.as_str() == "G-1").expect("an item");
        let contents = stored.contents_bytes("G-1");
        let case = Case { cart_item: bytes(item), cart_items: 1, contents, ..self.case(Status::Saved, None).await };
        let merged = self.client.post("/cart/accounts/N-1/merge", &json!({"fromAccountId": "G-1"})).await;
        self.assert("merge-carts", &case, &merged);
    }

    /// Reads, ships and delivers the order.
    async fn orders(&mut self, bought: &Answer, case: Case) {
        let client = self.client.clone();
        let order = format!("/cart/accounts/A-1/orders/{}", bought.body["orderId"].as_str().expect("an id"));
        self.assert("get-order", &case, &client.get(&order).await);
        self.assert("list-orders", &case, &client.get("/cart/accounts/A-1/orders").await);
        let shipped = client.patch(&order, &json!({"status": "SHIPPED"})).await;
        self.assert("update-order, to SHIPPED or CANCELLED", &case, &shipped);
        let delivered = client.patch(&order, &json!({"status": "DELIVERED"})).await;
        self.assert("update-order, to DELIVERED", &case, &delivered);
        let shipped = self.case(Status::Shipped, None).await;
        let list = client.get(&format!("{ITEMS}?status=SHIPPED")).await;
        self.assert("list-cart-items, shipped or cancelled", &shipped, &list);
    }

    async fn removes(&mut self, sku: &str) {
        for status in ["ACTIVE", "SAVED"] {
            let added = self.add(sku, None).await;
            let path = added.headers["location"].to_str().expect("text").to_owned();
            let active = self.case(Status::Active, None).await;
            self.client.patch(&path, &json!({"status": status})).await;
            let removed = send_delete(&self.client, &path).await;
            self.assert(
                if status == "SAVED" { "remove-cart-item, saved" } else { "remove-cart-item" },
                &active,
                &removed,
            );
        }
    }
}

async fn send_delete(client: &Client, path: &str) -> Answer {
    system_tests::send(client.request("DELETE", path)).await
}

#[tokio::test]
async fn a_large_order_and_its_jobs_consume_their_declared_cost() {
    let mut measured = Measured::of(without_jobs().await).await;
    let client = measured.client.clone();
    measured.add_some(0..70).await;
    let active = measured.case(Status::Active, None).await;
    let bought = measured.post(CHECKOUT, None, &json!({})).await;
    let stored = measured.case(Status::Active, None).await;
    let case = Case { order: stored.order, lines: stored.lines, ..active };
    measured.assert("checkout-cart, over 32 items", &case, &bought);
    let order = bought.body["orderId"].as_str().expect("an id");
    let moved = client.invoke("continue-cart-job", &job_event(order, "PURCHASED")).await;
    measured.assert("continue-cart-job", &Case { contents: stored.contents, ..case }, &moved);
    let purchased = measured.case(Status::Purchased, None).await;
    assert_eq!(purchased.cart_items, 70);
    let path = format!("/cart/accounts/A-1/orders/{order}");
    let shipped = client.patch(&path, &json!({"status": "SHIPPED"})).await;
    let case = Case { order: purchased.order, ..case };
    measured.assert("update-order, to SHIPPED or CANCELLED, over 32 items", &case, &shipped);
    // The job fails because it cannot read the lines. An operator repairs them and retries the job.
    let engine = measured.stack.client().expect("a client");
    let table = measured.stack.table("Cart").expect("a table").to_owned();
    let key = [("PK", "A-1".to_owned()), ("SK", format!("LINES#{order}"))];
    let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value)));
    let lines = engine.get_item().table_name(&table).set_key(Some(key.into())).send().await.expect("the lines").item;
    damage(&measured.stack, "Cart", |item| attribute(item, "Type") == "OrderLines", "Lines", DAMAGES[0]).await;
    let job = format!("/cart/jobs/{order}-SHIPPED");
    let event = job_event(order, "SHIPPED");
    client.invoke("continue-cart-job", &event).await;
    let failed = client.get(&job).await;
    let reason = "A stored OrderLines cannot be read.";
    assert_eq!((&failed.body["status"], &failed.body["reason"]), (&json!("failed"), &json!(reason)));
    measured.assert("get-cart-job", &case, &failed);
    engine.put_item().table_name(&table).set_item(lines).send().await.expect("repaired");
    let retried = client.post(&format!("{job}/retry"), &json!({})).await;
    assert_eq!(retried.headers["location"], job.as_str());
    measured.assert("retry-cart-job", &case, &retried);
    client.invoke("continue-cart-job", &event).await;
    let done = client.get(&job).await.body;
    assert_eq!((&done["status"], &done["done"]), (&json!("done"), &json!(70)), "{done}");
    assert_eq!(measured.case(Status::Shipped, None).await.cart_items, 70);
    assert_eq!(measured.functions, OF_JOBS.map(str::to_owned).into(), "a pattern was not measured");
}

#[tokio::test]
async fn an_idempotency_key_consumes_its_declared_cost() {
    let long = "k".repeat(128);
    for (sku, key) in [("S-1".to_owned(), "K-1"), (largest().await, long.as_str())] {
        let mut measured = Measured::start().await;
        stock(&measured.stack, [&sku]).await;
        let (more, order) = (format!("M{}", &key[1..]), format!("O{}", &key[1..]));
        let added = measured.add(&sku, Some(key)).await;
        let case = measured.case(Status::Active, Some(key)).await;
        measured.assert("add-cart-item", &cart_items(case, 0), &added);
        let grown = measured.add(&sku, Some(&more)).await;
        let case = measured.case(Status::Active, Some(&more)).await;
        measured.assert("add-cart-item, in the cart already", &case, &grown);
        let active = measured.case(Status::Active, None).await;
        let bought = measured.post(CHECKOUT, Some(&order), &json!({})).await;
        let purchased = measured.case(Status::Purchased, Some(&order)).await;
        measured.assert("checkout-cart", &Case { contents: active.contents, ..purchased }, &bought);
    }
}

#[tokio::test]
async fn a_cart_of_several_items_consumes_its_declared_cost() {
    join_all([5, 32].map(async |count| {
        for key in [None, Some("K-1")] {
            let mut measured = Measured::start().await;
            measured.add_some(0..count - 1).await;
            let added = measured.add(&sku(count - 1), None).await;
            let active = measured.case(Status::Active, None).await;
            assert_eq!(active.cart_items, count);
            measured.assert("add-cart-item", &cart_items(active, count - 1), &added);
            let more = measured.add(&sku(0), None).await;
            measured.assert("add-cart-item, in the cart already", &active, &more);
            let client = measured.client.clone();
            let listed = client.get(ITEMS).await;
            measured.assert("list-cart-items", &active, &listed);
            let page = client.get(&format!("{ITEMS}?limit=3")).await;
            measured.assert("list-cart-items", &cart_items(active, 3), &page);
            let bought = measured.post(CHECKOUT, key, &json!({})).await;
            assert_eq!(bought.body["items"].as_array().map(Vec::len), Some(count));
            let after = measured.case(Status::Purchased, key).await;
            let (order, lines, record) = (after.order, after.lines, after.record);
            measured.assert("checkout-cart", &Case { order, lines, record, ..active }, &bought);
            let bought = measured.case(Status::Purchased, None).await;
            let listed = client.get(&format!("{ITEMS}?status=PURCHASED")).await;
            measured.assert("list-cart-items, purchased", &bought, &listed);
            if key.is_some() {
                let again = measured.post(CHECKOUT, key, &json!({})).await;
                let sum = Units::whole(1) + read(bought.order) + read(bought.lines);
                assert_eq!(consumed(&again), reads("Cart", sum), "a repeated checkout");
            }
        }
    }))
    .await;
}

#[tokio::test]
async fn reactivated_items_consume_their_declared_cost() {
    for others in [0, 20] {
        for joins in [false, true] {
            let mut measured = Measured::start().await;
            let saved = measured.add(&sku(99), None).await;
            let path = saved.headers["location"].to_str().expect("text").to_owned();
            let moved = measured.client.patch(&path, &json!({"status": "SAVED"})).await;
            assert_eq!(moved.status, 200, "{}", moved.body);
            measured.add_some(0..others).await;
            if joins {
                measured.add(&sku(99), None).await;
            }
            let case = measured.case(Status::Active, None).await;
            let back = measured.client.patch(&path, &json!({"status": "ACTIVE"})).await;
            assert_eq!(back.body["quantity"], if joins { 2 } else { 1 }, "{}", back.body);
            let contents = Stored::read(&measured.stack).await.contents_bytes("A-1");
            let variant =
                if joins { "update-cart-item, to ACTIVE, in the cart already" } else { "update-cart-item, to ACTIVE" };
            measured.assert(variant, &Case { contents, ..case }, &back);
        }
    }
}

#[tokio::test]
async fn items_of_many_customers_consume_their_declared_cost() {
    let mut measured = Measured::start().await;
    for number in 10..50 {
        let added = measured.client.post(&format!("/cart/accounts/A-{number}/items"), &new(&sku(0))).await;
        assert_eq!(added.status, 201, "{}", added.body);
    }
    let case = measured.case(Status::Active, None).await;
    assert!(case.cart_item * case.cart_items > 2 * 4_096, "{case:?}");
    let of_sku = format!("/cart/skus/{}/items", sku(0));
    let all = measured.client.get(&of_sku).await;
    measured.assert("list-sku-items", &case, &all);
    let page = measured.client.get(&format!("{of_sku}?limit=7")).await;
    measured.assert("list-sku-items", &cart_items(case, 7), &page);
    let empty = measured.client.get("/cart/skus/none/items").await;
    assert_eq!(consumed(&empty), reads("Cart/GSI1", read_eventually(0)));
}

fn reads(place: &str, units: Units) -> Consumed {
    Consumed::from([(place.to_owned(), (units, Units::ZERO))])
}

/// Adds the cost of reading a product with eventual consistency.
fn and_product(mut consumed: Consumed) -> Consumed {
    consumed.insert("Products".to_owned(), (Units::halves(1), Units::ZERO));
    consumed
}

#[tokio::test]
async fn rejected_requests_write_nothing_and_read_only_what_is_necessary() {
    let measured = Measured::start().await;
    let client = &measured.client;
    let nobody = format!("{ITEMS}/{}", "0".repeat(32));
    let empty = measured.post(CHECKOUT, Some("K-0"), &json!({})).await;
    assert_eq!((empty.status, consumed(&empty)), (409, reads("Cart", Units::whole(4))));
    measured.add_some(0..20).await;
    let contents = read(measured.case(Status::Active, None).await.contents);
    let unknown = measured.add("unknown", None).await;
    // A product that is missing is read again with strong consistency.
    let mut wanted = reads("Cart", contents);
    wanted.insert("Products".to_owned(), (Units::halves(3), Units::ZERO));
    assert_eq!((unknown.status, consumed(&unknown)), (409, wanted));
    let added = measured.add(&sku(0), Some("K-1")).await;
    assert_eq!(added.status, 200);
    let again = measured.add(&sku(0), Some("K-1")).await;
    let two = reads("Cart", Units::whole(2));
    assert_eq!((&again.body, consumed(&again)), (&added.body, and_product(two.clone())), "a repeated request");
    let other = measured.add(&sku(1), Some("K-1")).await;
    assert_eq!((other.status, consumed(&other)), (422, and_product(two.clone())));
    let path = format!("{ITEMS}/{}", added.body["itemId"].as_str().expect("an id"));
    let unchanged = client.patch(&path, &json!({"quantity": 2})).await;
    assert_eq!((unchanged.status, consumed(&unchanged)), (200, two), "an unchanged item");
    // A missing item is looked up twice, because its key may just have changed. This id has no
    // time, so each look reads only the pointer.
    for body in [json!({"quantity": 1}), json!({"status": "SAVED"}), json!({"status": "ACTIVE"})] {
        let missing = client.patch(&nobody, &body).await;
        let looks = if body["status"] == "ACTIVE" { 3 } else { 2 };
        assert_eq!((missing.status, consumed(&missing)), (404, reads("Cart", Units::whole(looks))), "{body}");
    }
    let missing = send_delete(client, &nobody).await;
    assert_eq!((missing.status, consumed(&missing)), (404, reads("Cart", Units::whole(2))));
    let changed = client.post(CHECKOUT, &json!({"expectedTotal": "0.01"})).await;
    assert_eq!((changed.status, changed.body["type"].as_str()), (409, Some("/problems/total-changed")));
    let bought = client.post(CHECKOUT, &json!({})).await;
    assert_eq!(bought.status, 200);
    // The first key of the item is missing, and the pointer has the new key.
    let located = reads("Cart", Units::whole(3));
    for body in [json!({"quantity": 1}), json!({"status": "SAVED"}), json!({"status": "ACTIVE"})] {
        let refused = client.patch(&path, &body).await;
        assert_eq!((refused.status, consumed(&refused)), (409, located.clone()), "{body}");
    }
    let refused = send_delete(client, &path).await;
    assert_eq!((refused.status, consumed(&refused)), (409, located));
    let stranger = Client::caller(&measured.stack, "cart:read cart:write", &["A-2"]);
    let order = format!("/cart/accounts/A-1/orders/{}", bought.body["orderId"].as_str().expect("an id"));
    for answer in [
        client.post(ITEMS, &json!({"sku": "", "quantity": 0})).await,
        stranger.post(ITEMS, &new("S-1")).await,
        stranger.get(ITEMS).await,
        stranger.patch(&path, &json!({"quantity": 1})).await,
        send_delete(&stranger, &path).await,
        stranger.post(CHECKOUT, &json!({})).await,
        stranger.get(&order).await,
        stranger.patch(&order, &json!({"status": "CANCELLED"})).await,
    ] {
        assert!(matches!(answer.status, 400 | 403), "{}", answer.body);
        assert_eq!(consumed(&answer), Consumed::new(), "{}", answer.body);
    }
}
