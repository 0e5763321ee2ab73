//! Compares the request units that each access pattern consumes with its declared cost.
//!
//! The tests compare the table and the index separately. They use items of small and maximum size,
//! with and without an idempotency key. They also check the cost of rejected requests.

use cart::{CartItem, Case, MAX_BYTES};
use futures::future::join_all;
use keys::{AccountId, cart::Status};
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, Client,
    cart::{
        model::{Operation, Reply, Stored},
        product, stock, stocked,
    },
    patterns::{cost_of, labels},
    stack,
    units::{Consumed, consumed, declared},
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
        let stack = stocked(stack()).await;
        stock(&stack, (0..100).map(sku)).await;
        Self { client: Client::operator(&stack), stack, functions: BTreeSet::new() }
    }

    fn assert(&mut self, function: &str, case: &Case, answer: &Answer) {
        assert!(matches!(answer.status, 200 | 201 | 204), "{function}: {}", answer.body);
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
        }
    }

    /// Returns the only cart item.
    async fn cart_item(&self) -> CartItem {
        Stored::read(&self.stack).await.cart_items.pop().expect("a cart item")
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
    let bought = measure_all_patterns("S-1", "O-1").await;
    assert!(bytes(&bought) < MAX_BYTES / 2);
}

#[tokio::test]
async fn the_largest_item_consumes_its_declared_cost() {
    let bought = measure_all_patterns(&largest().await, &"o".repeat(128)).await;
    let bytes = bytes(&bought);
    assert!((MAX_BYTES - 100..=MAX_BYTES).contains(&bytes), "{bytes} bytes: the cart may accept a larger item");
}

/// Measures every access pattern on one cart item, and returns the purchased item.
async fn measure_all_patterns(sku: &str, order: &str) -> CartItem {
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
    measured.assert("update-cart-item, to SAVED or PURCHASED", &case, &saved);
    let counted = client.patch(&path, &json!({"quantity": 6})).await;
    measured.assert("update-cart-item, quantity", &case, &counted);
    let back = client.patch(&path, &json!({"status": "ACTIVE", "quantity": 7})).await;
    measured.assert("update-cart-item, to ACTIVE", &cart_items(case, 0), &back);
    let active = measured.case(Status::Active, None).await;
    let bought = measured.post(CHECKOUT, None, &json!({})).await;
    measured.assert("checkout-cart", &active, &bought);
    assert!(measured.cart_item().await.previous.is_some_and(|previous| previous.status == Status::Active));
    let purchased = measured.case(Status::Purchased, None).await;
    let list = client.get(&format!("{ITEMS}?status=PURCHASED")).await;
    measured.assert("list-cart-items, purchased", &purchased, &list);
    let removed = measured.removes(sku).await;
    assert!(removed.version > 1);
    assert_eq!(measured.functions, labels(&cart::patterns()), "a pattern was not measured");
    buys(sku, order).await
}

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

    async fn removes(&mut self, sku: &str) -> CartItem {
        let added = self.add(sku, None).await;
        let path = added.headers["location"].to_str().expect("text").to_owned();
        let case = self.case(Status::Active, None).await;
        let removed = send_delete(&self.client, &path).await;
        self.assert("remove-cart-item", &case, &removed);
        let stored = Stored::read(&self.stack).await;
        stored
            .cart_items
            .into_iter()
            .find(|cart_item| cart_item.sort.status == Status::Removed)
            .expect("a removed item")
    }
}

async fn send_delete(client: &Client, path: &str) -> Answer {
    system_tests::send(client.request("DELETE", path)).await
}

/// Buys one item with the given order id.
async fn buys(sku: &str, order: &str) -> CartItem {
    let mut measured = Measured::start().await;
    stock(&measured.stack, [sku]).await;
    let added = measured.add(sku, None).await;
    let path = added.headers["location"].to_str().expect("text").to_owned();
    let case = measured.case(Status::Active, None).await;
    let bought = measured.client.patch(&path, &json!({"status": "PURCHASED", "orderId": order})).await;
    measured.assert("update-cart-item, to SAVED or PURCHASED", &case, &bought);
    measured.cart_item().await
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
        let record = measured.case(Status::Active, Some(&order)).await.record;
        measured.assert("checkout-cart", &Case { record, ..active }, &bought);
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
            let record = match key {
                Some(key) => measured.case(Status::Active, Some(key)).await.record,
                None => None,
            };
            measured.assert("checkout-cart", &Case { record, ..active }, &bought);
            let bought = measured.case(Status::Purchased, None).await;
            let listed = client.get(&format!("{ITEMS}?status=PURCHASED")).await;
            measured.assert("list-cart-items, purchased", &bought, &listed);
            if key.is_some() {
                let again = measured.post(CHECKOUT, key, &json!({})).await;
                let sum = Units::whole(2) + read(bought.cart_item * bought.cart_items);
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
            measured.assert("update-cart-item, to ACTIVE", &case, &back);
        }
    }
}

/// The declared costs of two access patterns do not include the daily renewal of the expiry, which
/// also writes the pointer. Their formulas mention it.
#[tokio::test]
async fn a_renewed_expiry_consumes_the_cost_of_the_formulas() {
    let measured = Measured::start().await;
    let account: AccountId = "A-1".parse().expect("an account");
    let ask = async |operation: &Operation, time: &str| {
        let event = operation.event(&account, time.parse().expect("a time"));
        let answer = measured.client.invoke(operation.function(), &event).await;
        (Reply::read(&answer.body), consumed(&answer))
    };
    let add = Operation::Add { sku: "S-1".parse().expect("a product"), quantity: 1, key: None };
    let (added, _) = ask(&add, "2099-12-01T12:00:00Z").await;
    let item = added.body["itemId"].as_str().expect("an id").parse().expect("an id");
    let change = |quantity| Operation::Change { item, quantity: Some(quantity), status: None, order: None };
    let units = |operation: &Operation, reads, writes| {
        let (table, index) = ((Units::whole(reads), Units::whole(writes)), (Units::ZERO, Units::whole(1)));
        let units = Consumed::from([("Cart".to_owned(), table), ("Cart/GSI1".to_owned(), index)]);
        if let Operation::Add { .. } = operation { and_product(units) } else { units }
    };
    for (operation, time, reads, writes) in [
        (&add, "2099-12-02T12:00:00.999Z", 2, 2),
        (&add, "2099-12-02T12:00:01Z", 2, 6),
        (&change(8), "2099-12-03T12:00:01Z", 2, 2),
        (&change(9), "2099-12-03T12:00:02Z", 3, 6),
        (&change(10), "2099-12-03T12:00:02Z", 2, 2),
    ] {
        let (reply, consumed) = ask(operation, time).await;
        let wanted = units(operation, reads, writes);
        assert_eq!((reply.status, consumed), (200, wanted), "{operation:?} at {time}");
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
    measured.add_some(0..32).await;
    let active = measured.case(Status::Active, None).await;
    let looked = Units::whole(1) + read(active.cart_item * active.cart_items);
    let full = measured.add(&sku(32), None).await;
    assert_eq!((full.status, consumed(&full)), (409, and_product(reads("Cart", looked))), "a full cart");
    let unknown = measured.add("unknown", None).await;
    assert_eq!((unknown.status, consumed(&unknown)), (409, and_product(reads("Cart", Units::whole(1)))));
    let added = measured.add(&sku(0), Some("K-1")).await;
    assert_eq!(added.status, 200);
    let again = measured.add(&sku(0), Some("K-1")).await;
    assert_eq!(
        (&again.body, consumed(&again)),
        (&added.body, and_product(reads("Cart", Units::whole(2)))),
        "a repeated request"
    );
    let other = measured.add(&sku(1), Some("K-1")).await;
    let (one, two) = (reads("Cart", Units::whole(1)), reads("Cart", Units::whole(2)));
    assert_eq!((other.status, consumed(&other)), (422, and_product(two.clone())));
    let path = format!("{ITEMS}/{}", added.body["itemId"].as_str().expect("an id"));
    let unchanged = client.patch(&path, &json!({"quantity": 2})).await;
    assert_eq!((unchanged.status, consumed(&unchanged)), (200, two.clone()), "an unchanged item");
    for (body, cost) in
        [(json!({"quantity": 1}), &one), (json!({"status": "SAVED"}), &one), (json!({"status": "ACTIVE"}), &two)]
    {
        let missing = client.patch(&nobody, &body).await;
        assert_eq!((missing.status, &consumed(&missing)), (404, cost), "{body}");
    }
    let missing = send_delete(client, &nobody).await;
    assert_eq!((missing.status, consumed(&missing)), (404, one.clone()));
    let missing = client.get(&nobody).await;
    assert_eq!((missing.status, consumed(&missing)), (404, one));
    let bought = client.patch(&path, &json!({"status": "PURCHASED"})).await;
    assert_eq!(bought.status, 200);
    for body in [json!({"quantity": 1}), json!({"status": "SAVED"}), json!({"status": "ACTIVE"})] {
        let refused = client.patch(&path, &body).await;
        assert_eq!((refused.status, consumed(&refused)), (409, two.clone()), "{body}");
    }
    let refused = send_delete(client, &path).await;
    assert_eq!((refused.status, consumed(&refused)), (409, two));
    let stranger = Client::caller(&measured.stack, "cart:read cart:write", &["A-2"]);
    for answer in [
        client.post(ITEMS, &json!({"sku": "", "quantity": 0})).await,
        stranger.post(ITEMS, &new("S-1")).await,
        stranger.get(ITEMS).await,
        stranger.patch(&path, &json!({"quantity": 1})).await,
        send_delete(&stranger, &path).await,
        stranger.post(CHECKOUT, &json!({})).await,
    ] {
        assert!(matches!(answer.status, 400 | 403), "{}", answer.body);
        assert_eq!(consumed(&answer), Consumed::new(), "{}", answer.body);
    }
}
