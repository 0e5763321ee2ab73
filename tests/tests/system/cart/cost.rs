//! Compares the request units that each access pattern consumes with its declared cost, for the
//! table and the index separately. The contract has the units of each event.

use super::orders::{fill, job_event, without_jobs};
use aws_sdk_dynamodb::types::AttributeValue;
use cart::{CartItem, Case, MAX_BYTES, Order, Previous, Quantity};
use keys::cart::{CartItemSort, OrderSort, OrdersPartition, Status};
use local::Stack;
use money::Money;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use system_tests::{
    Answer, Client,
    cart::{items, stack, stock, stocked},
    dynamo, parsed,
    patterns::{cost_of, labels},
    send, text,
    units::{Consumed, bytes, consumed, declared},
};
use table::{
    BatchWrite, Units,
    cost::{read, read_eventually},
};

const ITEMS: &str = "/cart/accounts/A-1/items";

/// The sizes of items of at most 1 KB, which all cost one unit.
const ONE: Case = Case {
    cart_item: 1,
    cart_items: 1,
    contents: 1,
    record: None,
    product: 1,
    products: 3,
    order: 1,
    orders: 1,
    entry: 1,
    entries: 1,
    shards: 4,
    lines: 1,
};

const NEW: &str = r#"{"sku": "SKU"}"#;
const SAVED: &str = r#"{"status": "SAVED"}"#;
const ACTIVE: &str = r#"{"status": "ACTIVE"}"#;

/// Label of an access pattern, or nothing if the request is not measured; request; and body.
const STORY: [(&str, &str, &str); 35] = [
    ("put-product", "PUT /cart/products/SKU", r#"{"name": "Product", "price": "12.50", "currency": "USD"}"#),
    ("get-product", "GET /cart/products/SKU", ""),
    ("list-products", "GET /cart/products?limit=3", ""),
    ("add-cart-item", "POST /items", NEW),
    ("add-cart-item, in the cart already", "POST /items", NEW),
    ("update-cart-item, quantity", "PATCH /items/ITEM", r#"{"quantity": 5}"#),
    ("get-cart-item", "GET /items/ITEM", ""),
    ("get-cart-item, current prices", "GET /items/ITEM?prices=current", ""),
    ("list-cart-items", "GET /items", ""),
    ("list-cart-items, current prices", "GET /items?prices=current", ""),
    ("list-sku-items", "GET /cart/skus/SKU/items", ""),
    ("list-sku-items, current prices", "GET /cart/skus/SKU/items?prices=current", ""),
    ("update-cart-item, to SAVED", "PATCH /items/ITEM", SAVED),
    ("update-cart-item, quantity of a saved item", "PATCH /items/ITEM", r#"{"quantity": 6}"#),
    ("get-cart-item, saved", "GET /items/ITEM", ""),
    ("list-cart-items, saved, shipped or cancelled", "GET /items?status=SAVED", ""),
    ("update-cart-item, to ACTIVE", "PATCH /items/ITEM", r#"{"status": "ACTIVE", "quantity": 7}"#),
    ("", "PATCH /items/ITEM", SAVED),
    ("", "POST /items", NEW),
    ("update-cart-item, to ACTIVE, in the cart already", "PATCH /items/ITEM", ACTIVE),
    ("checkout-cart", "POST /checkout", "{}"),
    ("list-cart-items, purchased", "GET /items?status=PURCHASED", ""),
    ("get-order", "GET /orders/ORDER", ""),
    ("list-orders", "GET /orders", ""),
    ("list-orders-by-status", "GET /cart/orders", ""),
    ("update-order, to SHIPPED or CANCELLED", "PATCH /orders/ORDER", r#"{"status": "SHIPPED"}"#),
    ("update-order, to DELIVERED", "PATCH /orders/ORDER", r#"{"status": "DELIVERED"}"#),
    ("list-cart-items, saved, shipped or cancelled", "GET /items?status=SHIPPED", ""),
    ("add-cart-item", "POST /items", NEW),
    ("remove-cart-item", "DELETE /items/ITEM", ""),
    ("add-cart-item", "POST /items", NEW),
    ("", "PATCH /items/ITEM", SAVED),
    ("remove-cart-item, saved", "DELETE /items/ITEM", ""),
    ("", "POST /cart/accounts/G-1/items", NEW),
    ("merge-carts", "POST /cart/accounts/N-1/merge", r#"{"fromAccountId": "G-1"}"#),
];

/// Patterns of large orders and jobs. The contract measures the last two.
const OF_JOBS: [&str; 5] = [
    "checkout-cart, over 32 items",
    "update-order, to SHIPPED or CANCELLED, over 32 items",
    "continue-cart-job",
    "get-cart-job",
    "retry-cart-job",
];

/// Sends a request such as `GET /orders`, relative to the account `A-1`.
async fn ask(client: &Client, request: &str, key: &str, body: &str) -> Answer {
    let (method, path) = request.split_once(' ').expect("a method and a path");
    let account = if path.starts_with("/cart/") { "" } else { "/cart/accounts/A-1" };
    let mut asking = client.request(method, &format!("{account}{path}"));
    if !key.is_empty() {
        asking = asking.header("idempotency-key", key);
    }
    send(if body.is_empty() { asking } else { asking.json(&serde_json::from_str(body).expect("JSON")) }).await
}

fn assert_cost(label: &str, case: &Case, answer: &Answer) {
    assert!((200..300).contains(&answer.status), "{label}: {}", answer.body);
    assert_eq!(consumed(answer), declared(&cost_of(&cart::patterns(), label, case)), "{label} of {case:?}");
}

/// The sizes of the items with a status, of the cart and its order, and of the record with a key.
async fn sizes(stack: &Stack, status: &str, key: Option<&str>) -> Case {
    let stored = items(stack).await;
    let of = |prefix: &str| -> Vec<usize> {
        let found = stored.iter().filter(|item| item["SK"].as_s().is_ok_and(|sort| sort.starts_with(prefix)));
        found.map(bytes).collect()
    };
    let one = |prefix: &str| of(prefix).into_iter().max().unwrap_or_default();
    let found = of(&format!("{status}#"));
    Case {
        cart_item: found.iter().sum::<usize>().div_ceil(found.len().max(1)),
        cart_items: found.len(),
        contents: one("CART"),
        record: key.map(|key| one(&format!("IDEMPOTENCY#{key}"))),
        order: one("ORDER#"),
        lines: one("LINES#"),
        ..ONE
    }
}

/// Measures every access pattern with a route on one cart item, whose size is returned. Additions
/// and checkouts have idempotency keys of this length, if any.
async fn play(sku: &str, key_length: Option<usize>) -> usize {
    let stack = stocked(stack()).await;
    stock(&stack, [sku]).await;
    let client = Client::operator(&stack);
    let escaped = sku.bytes().fold(String::new(), |path, byte| path + &format!("%{byte:02X}"));
    let (mut item, mut order, mut measured) = (String::new(), String::new(), BTreeSet::new());
    for (number, (label, request, body)) in STORY.into_iter().enumerate() {
        let is_keyed = request.starts_with("POST") && !request.ends_with("/merge");
        let key = key_length.filter(|_| is_keyed).map(|length| format!("{number:0>length$}"));
        let request = request.replace("SKU", &escaped).replace("ITEM", &item).replace("ORDER", &order);
        let answer = ask(&client, &request, key.as_deref().unwrap_or_default(), &body.replace("SKU", sku)).await;
        assert!((200..300).contains(&answer.status), "{request}: {}", answer.body);
        if label.is_empty() {
            continue;
        }
        for (name, id) in [("itemId", &mut item), ("orderId", &mut order)] {
            if let Some(new) = answer.body[name].as_str() {
                new.clone_into(id);
            }
        }
        let is_empty = label == "add-cart-item" && !measured.contains(label);
        let record = if key.is_some() { sizes(&stack, "", key.as_deref()).await.record } else { None };
        assert_cost(label, &Case { cart_items: usize::from(!is_empty), record, ..ONE }, &answer);
        measured.insert(label.to_owned());
    }
    let labels = labels(&cart::patterns()).into_iter().filter(|label| !OF_JOBS.contains(&label.as_str()));
    assert_eq!(measured, labels.collect(), "a pattern was not measured");
    let shipped = sizes(&stack, "SHIPPED", None).await.cart_item;
    stack.stop().await;
    shipped
}

/// Returns the longest SKU that the cart accepts. Checks that an item with this SKU has room for
/// all later changes.
async fn largest() -> String {
    let stack = stocked(stack()).await;
    let client = Client::operator(&stack);
    let sku = |bytes: usize| "\u{1F455}".repeat(bytes / 4) + &"x".repeat(bytes % 4);
    // The SKU is stored twice: as an attribute and as an index key.
    let (mut fits, mut refused) = (1, MAX_BYTES / 2);
    while refused - fits > 1 {
        let middle = fits.midpoint(refused);
        stock(&stack, [sku(middle)]).await;
        match client.post(ITEMS, &json!({"sku": sku(middle)})).await.status {
            201 => fits = middle,
            status => {
                assert_eq!(status, 413, "{middle} bytes");
                refused = middle;
            }
        }
    }
    let largest = sku(fits);
    let has_it = |item: &&HashMap<String, AttributeValue>| {
        item.get("Sku").and_then(|sku| sku.as_s().ok()) == Some(&largest) && item.contains_key("AddedAt")
    };
    let stored = items(&stack).await;
    let item = stored.iter().find(has_it).expect("an item");
    assert_stays_small(&serde_dynamo::from_item(item.clone()).expect("a cart item"));
    stack.stop().await;
    largest
}

/// Checks the size of the item after a checkout at another price and after a merge, with the
/// largest numbers.
fn assert_stays_small(added: &CartItem) {
    let quantity: Quantity = Quantity::MAX.try_into().expect("a quantity");
    let before = |status, price| Previous { status, since: added.added_at, quantity, price };
    let moved = |status, previous| {
        let sort = CartItemSort { status, ..added.sort };
        let version = 9_999_999_999;
        CartItem { sort, index_sort: Some(sort), quantity, version, previous: Some(previous), ..added.clone() }
    };
    let bought = CartItem {
        price: Money::new(parsed("888888888888.88"), added.price.currency()).expect("a price"),
        order_id: Some(parsed(&"o".repeat(32))),
        expires_at: None,
        ..moved(Status::Purchased, before(Status::Active, Some(added.price)))
    };
    let joined = CartItem {
        joined_to: Some(added.id()),
        index_partition: None,
        index_sort: None,
        ..moved(Status::Joined, before(Status::Saved, None))
    };
    for item in [bought, joined] {
        assert!(table::size(&item).expect("a size") <= MAX_BYTES, "{item:?}");
    }
}

#[tokio::test]
async fn a_small_item_consumes_its_declared_cost() {
    assert!(play("S-1", None).await < MAX_BYTES / 2);
}

#[tokio::test]
async fn the_largest_item_consumes_its_declared_cost() {
    let bytes = play(&largest().await, Some(128)).await;
    // The reserve is for a checkout at another price, and for larger numbers.
    assert!((MAX_BYTES - 150..=MAX_BYTES).contains(&bytes), "{bytes} bytes: the cart may accept a larger item");
}

/// A checkout moves 32 items itself. With 70 items, the contents of the cart have several KB.
#[tokio::test]
async fn a_cart_of_several_items_consumes_its_declared_cost() {
    for (count, over) in [(32, ""), (70, ", over 32 items")] {
        let stack = without_jobs().await;
        let client = Client::operator(&stack);
        let ask = async |request: &str, key: &str, body: &str| ask(&client, request, key, body).await;
        fill(&client, "A-1", count - 1).await;
        let last = format!(r#"{{"sku": "S-{count}"}}"#);
        let added = ask("POST /items", "", &last).await;
        let active = sizes(&stack, "ACTIVE", None).await;
        assert_eq!(active.cart_items, count);
        assert_cost("add-cart-item", &active, &added);
        let item = format!("PATCH /items/{}", text(&added.body, "itemId"));
        ask(&item, "", SAVED).await;
        assert_cost("update-cart-item, to ACTIVE", &active, &ask(&item, "", ACTIVE).await);
        ask(&item, "", SAVED).await;
        ask("POST /items", "", &last).await;
        assert_cost("update-cart-item, to ACTIVE, in the cart already", &active, &ask(&item, "", ACTIVE).await);
        let more = ask("POST /items", "", r#"{"sku": "sku-0"}"#).await;
        assert_cost("add-cart-item, in the cart already", &active, &more);
        let active = sizes(&stack, "ACTIVE", None).await;
        assert_cost("list-cart-items", &active, &ask("GET /items?limit=100", "", "").await);
        let page = ask("GET /items?limit=3", "", "").await;
        assert_cost("list-cart-items", &Case { cart_items: 3, ..active }, &page);
        let ten = consumed(&ask("GET /items?limit=10", "", "").await);
        assert_eq!(ten, reads("Cart", Units::halves(3)), "ten items");

        let bought = ask("POST /checkout", "K-1", "{}").await;
        let Case { order, lines, record, contents, .. } = sizes(&stack, "PURCHASED", Some("K-1")).await;
        let case = Case { order, lines, ..active };
        assert_cost(&format!("checkout-cart{over}"), &Case { record, ..case }, &bought);
        let id = text(&bought.body, "orderId");
        if over.is_empty() {
            let again = ask("POST /checkout", "K-1", "{}").await;
            let sum = Units::whole(1) + read(order).units() + read(lines).units();
            assert_eq!(consumed(&again), reads("Cart", sum), "a repeated checkout");
        } else {
            let moved = client.invoke("continue-cart-job", &job_event(id, "PURCHASED")).await;
            assert_cost("continue-cart-job", &Case { contents, ..case }, &moved);
        }
        let purchased = sizes(&stack, "PURCHASED", None).await;
        assert_eq!(purchased.cart_items, count);
        let listed = ask("GET /items?status=PURCHASED&limit=100", "", "").await;
        assert_cost("list-cart-items, purchased", &purchased, &listed);
        let shipped = ask(&format!("PATCH /orders/{id}"), "", r#"{"status": "SHIPPED"}"#).await;
        let case = Case { order: purchased.order, ..case };
        assert_cost(&format!("update-order, to SHIPPED or CANCELLED{over}"), &case, &shipped);
        stack.stop().await;
    }
}

#[tokio::test]
async fn items_of_many_customers_consume_their_declared_cost() {
    let stack = stocked(stack()).await;
    let client = Client::operator(&stack);
    for number in 10..50 {
        let added = client.post(&format!("/cart/accounts/A-{number}/items"), &json!({"sku": "S-1"})).await;
        assert_eq!(added.status, 201, "{}", added.body);
    }
    let case = sizes(&stack, "ACTIVE", None).await;
    assert!(case.cart_item * case.cart_items > 2 * 4_096, "{case:?}");
    assert_cost("list-sku-items", &case, &client.get("/cart/skus/S-1/items").await);
    let page = client.get("/cart/skus/S-1/items?limit=7").await;
    assert_cost("list-sku-items", &Case { cart_items: 7, ..case }, &page);
    let empty = client.get("/cart/skus/none/items").await;
    assert_eq!(consumed(&empty), reads("Cart/GSI1", read_eventually(0).units()));
    stack.stop().await;
}

/// Orders of the shards in turn, so that each shard has as many of a page. A page reads 1.5 times
/// the share of a shard, rounded up to 20 entries.
#[tokio::test]
async fn a_page_of_orders_consumes_its_declared_cost() {
    let stack = stocked(stack()).await;
    let client = Client::operator(&stack);
    let list = async |limit: usize| client.get(&format!("/cart/orders?limit={limit}")).await;
    let case = Case { entries: 0, ..ONE };
    assert_cost("list-orders-by-status", &case, &list(100).await);
    fill(&client, "A-1", 1).await;
    ask(&client, "POST /checkout", "", "{}").await;
    let stored = items(&stack).await;
    let order = stored.iter().find(|item| item.contains_key("GSI2PK")).expect("an order");
    let order: Order = serde_dynamo::from_item(order.clone()).expect("an order");
    let dynamo = dynamo(&stack);
    let (table, mut batch) = (dynamo.table(stack.table("Cart").expect("a table")), BatchWrite::default());
    for number in 0..200_u16 {
        let id = format!("{:012x}70008000000000000000", 1_600_000_000_000_u64 + u64::from(number));
        let by_status = OrdersPartition { shard: parsed(&(number % 4).to_string()), ..order.by_status };
        let order =
            Order { account: parsed(&"a".repeat(36)), sort: OrderSort(parsed(&id)), by_status, ..order.clone() };
        batch.put(&table, &order).expect("an order");
    }
    dynamo.batch_write(batch).await.expect("orders");
    let kept = ["GSI2PK", "PK", "SK", "StatusChangedAt", "Total"];
    let stored = items(&stack).await;
    let entry = stored.iter().filter(|item| item.contains_key("GSI2PK"));
    let entry = entry.map(|item| bytes(item.iter().filter(|(name, _)| kept.contains(&name.as_str())))).max();
    let case = Case { entry: entry.expect("entries"), ..ONE };
    let halves = |answer: &Answer| consumed(answer)["Cart/GSI2"].0;
    for (limit, entries, units) in [(3, 3, 4), (20, 20, 4), (50, 20, 4), (100, 40, 8)] {
        let page = list(limit).await;
        assert_eq!(page.body["items"].as_array().map(Vec::len), Some(limit));
        assert_cost("list-orders-by-status", &Case { entries, ..case }, &page);
        assert_eq!(halves(&page), Units::halves(units), "{limit} orders");
    }
    stack.stop().await;
}

fn reads(place: &str, units: Units) -> Consumed {
    Consumed::from([(place.to_owned(), (units, Units::ZERO))])
}

/// Request, idempotency key and body; status; and halves of read units of `Cart` and `Products`.
type Step = (&'static str, &'static str, &'static str, u16, Option<(u64, u64)>);

/// Requests that write nothing, in a cart of 20 products, and requests that are not measured. An
/// unknown product is read again with strong consistency. `NOBODY` is looked up twice, because its
/// key may just have changed. After the checkout, the pointer of `ITEM` has its new key.
const REFUSALS: [Step; 15] = [
    ("POST /items", "K-1", r#"{"sku": "sku-0"}"#, 200, None),
    ("POST /items", "K-1", r#"{"sku": "sku-0"}"#, 200, Some((4, 1))),
    ("POST /items", "K-1", r#"{"sku": "sku-1"}"#, 422, Some((4, 1))),
    ("POST /items", "", r#"{"sku": "unknown"}"#, 409, Some((2, 3))),
    ("POST /items", "", r#"{"sku": "", "quantity": 0}"#, 400, Some((0, 0))),
    ("PATCH /items/ITEM", "", r#"{"quantity": 2}"#, 200, Some((4, 0))),
    ("PATCH /items/NOBODY", "", r#"{"quantity": 1}"#, 404, Some((4, 0))),
    ("PATCH /items/NOBODY", "", ACTIVE, 404, Some((6, 0))),
    ("DELETE /items/NOBODY", "", "", 404, Some((4, 0))),
    ("PUT /cart/products/S-1", "", r#"{"name": "Product", "price": "12.490", "currency": "USD"}"#, 200, Some((0, 2))),
    ("POST /checkout", "", "{}", 200, None),
    ("PATCH /items/ITEM", "", r#"{"quantity": 1}"#, 409, Some((6, 0))),
    ("PATCH /items/ITEM", "", SAVED, 409, Some((6, 0))),
    ("PATCH /items/ITEM", "", ACTIVE, 409, Some((6, 0))),
    ("DELETE /items/ITEM", "", "", 409, Some((6, 0))),
];

#[tokio::test]
async fn rejected_requests_write_nothing_and_read_only_what_is_necessary() {
    let stack = stocked(stack()).await;
    let client = Client::operator(&stack);
    let empty = ask(&client, "POST /checkout", "K-0", "{}").await;
    assert_eq!((empty.status, consumed(&empty)), (409, reads("Cart", Units::whole(4))));
    let items = fill(&client, "A-1", 20).await;
    let item = text(items.iter().find(|item| item["sku"] == "sku-0").expect("an item"), "itemId");
    for (request, key, body, status, halves) in REFUSALS {
        let sent = request.replace("ITEM", item).replace("NOBODY", &"0".repeat(32));
        let answer = ask(&client, &sent, key, body).await;
        assert_eq!(answer.status, status, "{request} {body}: {}", answer.body);
        let Some((cart, products)) = halves else { continue };
        let mut wanted = reads("Cart", Units::halves(cart));
        wanted.extend(reads("Products", Units::halves(products)));
        wanted.retain(|_, (read, _)| *read != Units::ZERO);
        assert_eq!(consumed(&answer), wanted, "{request} {body}");
    }
    let stranger = Client::caller(&stack, "cart:read cart:write", &["A-2"]);
    for request in ["GET /items", "POST /checkout"] {
        let answer = ask(&stranger, request, "", "").await;
        assert_eq!((answer.status, consumed(&answer)), (403, Consumed::new()), "{request}");
    }
    stack.stop().await;
}
