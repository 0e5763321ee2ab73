//! Orders: their totals and prices, their status, and large orders whose cart items follow in a job
//! (docs/requirements/cart.md#orders, docs/decisions/cart-orders.md).

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::SignedDuration;
use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use system_tests::{
    Answer, Client, assert_problem,
    cart::{
        MAX_ITEMS, MAX_MOVED_AT_ONCE, Shop, checkout_of, items_of, model::Stored, path, product, put_products, stack,
        stocked,
    },
    changed,
    clock::{At, MILLISECOND, time},
    drained,
    faults::{Call, Fault, MOMENTS, Moment, Process, Proxy},
    parsed,
    patterns::function_named,
    send, text, texts,
};

const START: &str = "2026-01-02T10:30:00.123Z";
const MINUTE: Duration = Duration::from_mins(1);

fn order_of(account: &str, order: &Value) -> String {
    format!("/cart/accounts/{account}/orders/{}", text(order, "orderId"))
}

async fn put(client: &Client, sku: &str, price: &str, active: bool) {
    let body = json!({"name": sku, "price": price, "currency": "USD", "active": active});
    assert!(client.put(&format!("/cart/products/{sku}"), &body).await.status < 300);
}

async fn buy(at: At<'_>, account: &str, body: &Value) -> Answer {
    at.post(&checkout_of(account), body).await
}

#[tokio::test]
async fn checkout_charges_the_current_prices() {
    let shop = Shop::open(30).await;
    let at = shop.at(time(START));
    at.add("A-1", "tea", 3).await;
    at.add("A-1", "cup", 2).await;
    put(&shop.now, "tea", "4.10", true).await;
    let order = buy(at, "A-1", &json!({"expectedTotal": "37.28"})).await;
    assert_eq!(order.status, 200, "{}", order.body);
    let body = &order.body;
    assert_eq!(
        (&body["total"], &body["currency"], &body["status"]),
        (&json!("37.28"), &json!("USD"), &json!("PLACED"))
    );
    let lines = body["items"].as_array().expect("items");
    let lines: BTreeSet<_> =
        lines.iter().map(|line| (text(line, "sku"), text(line, "name"), text(line, "price"))).collect();
    assert_eq!(lines, BTreeSet::from([("cup", "Product", "12.49"), ("tea", "tea", "4.10")]));
    // Later prices change neither the order nor the purchased items.
    put(&shop.now, "tea", "9.99", true).await;
    assert_eq!(at.get(&order_of("A-1", body)).await.body, *body);
    let bought = at.of_account("A-1", "PURCHASED").await;
    assert_eq!(texts(&bought, "price").into_iter().collect::<BTreeSet<_>>(), BTreeSet::from(["12.49", "4.10"]));
    assert!(bought.iter().all(|one| one["orderId"] == body["orderId"] && one["priceChanged"].is_null()), "{bought:?}");
    shop.stack.stop().await;
}

#[tokio::test]
async fn checkout_with_another_total_or_a_missing_product_changes_nothing() {
    let shop = Shop::open(30).await;
    let at = shop.at(time(START));
    let tea = at.add("A-1", "tea", 3).await;
    at.add("A-1", "cup", 2).await;
    put(&shop.now, "tea", "4.10", true).await;
    let before = system_tests::cart::stored(&shop.stack).await;
    for expected in [json!("62.45"), json!("37.27"), json!(0), json!("37.281"), json!("-37.28")] {
        let refused = buy(at, "A-1", &json!({"expectedTotal": expected})).await;
        assert_problem(&refused, 409, "total-changed");
        let (total, items) = (&refused.body["total"], refused.body["items"].as_array().expect("items"));
        assert_eq!((total, &refused.body["currency"]), (&json!("37.28"), &json!("USD")));
        let prices: BTreeMap<_, _> = texts(items, "sku").into_iter().zip(texts(items, "price")).collect();
        assert_eq!(prices, BTreeMap::from([("cup", "12.49"), ("tea", "4.10")]));
    }
    put(&shop.now, "tea", "4.10", false).await;
    let refused = buy(at, "A-1", &json!({})).await;
    assert_problem(&refused, 409, "product-unavailable");
    assert!(text(&refused.body, "detail").contains("tea"), "{}", refused.body);
    put_products(
        &shop.stack,
        [cart::Product { price: money::Money::new(parsed("400"), parsed("JPY")).expect("a price"), ..product("tea") }],
    )
    .await;
    assert_problem(&buy(at, "A-1", &json!({})).await, 409, "cart-currency");
    let lonely = buy(at, "A-1", &json!({"expectedCurrency": "USD"})).await;
    assert_problem(&lonely, 400, "invalid-request");
    assert_eq!(lonely.body["errors"][0]["pointer"], "/body/expectedTotal", "{}", lonely.body);
    assert!(system_tests::cart::stored(&shop.stack).await == before);
    assert_eq!(at.delete(&path(&tea)).await.status, 204);
    assert_eq!(buy(at, "A-1", &json!({"expectedTotal": 24.98})).await.status, 200);
    shop.stack.stop().await;
}

#[tokio::test]
async fn orders_are_listed_newest_first_without_their_lines() {
    let shop = Shop::open(30).await;
    let mut orders = Vec::new();
    for number in 0..12_i32 {
        // The clock goes back between orders. The order of the cart still has a later time.
        let at = shop.at(time(START) + number % 3 * MILLISECOND);
        at.add("A-1", "tea", 1).await;
        let order = buy(at, "A-1", &json!({})).await.body;
        orders.insert(0, order);
    }
    let at = shop.at(time(START));
    let times = texts(&orders, "placedAt");
    assert!(times.is_sorted_by(|one, other| one > other), "{times:?}");
    for order in &mut orders {
        assert_eq!(at.get(&order_of("A-1", order)).await.body, *order);
        order.as_object_mut().expect("an object").remove("items");
    }
    for limit in [1, 5, 12, 100] {
        assert_eq!(at.all(&format!("/cart/accounts/A-1/orders?limit={limit}")).await.0, orders, "{limit}");
    }
    assert_eq!(at.all("/cart/accounts/A-2/orders").await.0, Vec::<Value>::new());
    let unknown = at.get("/cart/accounts/A-2/orders/O-1").await;
    assert_problem(&unknown, 404, "not-found");
    assert_problem(&at.get(&order_of("A-2", &orders[0])).await, 404, "not-found");
    shop.stack.stop().await;
}

#[tokio::test]
async fn the_items_of_an_order_follow_its_status() {
    let shop = Shop::open(30).await;
    let (at, later) = (shop.at(time(START)), shop.at(time(START) + MILLISECOND * 1_000));
    for (statuses, of_items) in [
        (vec!["SHIPPED", "SHIPPED", "DELIVERED", "DELIVERED"], "SHIPPED"),
        (vec!["CANCELLED", "CANCELLED"], "CANCELLED"),
    ] {
        let account = format!("A-{of_items}");
        let items = [at.add(&account, "tea", 2).await, at.add(&account, "cup", 1).await];
        let order = buy(at, &account, &json!({})).await.body;
        let path_of = order_of(&account, &order);
        for status in statuses {
            let changed = later.patch(&path_of, &json!({"status": status})).await;
            assert_eq!((changed.status, &changed.body["status"]), (200, &json!(status)), "{}", changed.body);
        }
        for status in ["PURCHASED", "SHIPPED", "CANCELLED"] {
            let listed = later.of_account(&account, status).await;
            assert_eq!(listed.len(), if status == of_items { 2 } else { 0 }, "{status}: {listed:?}");
            assert_eq!(
                later.of_sku("tea", status).await.iter().filter(|one| one["accountId"] == *account).count(),
                listed.len() / 2
            );
        }
        for item in &items {
            let read = later.get(&path(item)).await.body;
            assert_eq!((&read["status"], &read["orderId"]), (&json!(of_items), &order["orderId"]));
            assert_problem(&later.patch(&path(item), &json!({"quantity": 9})).await, 409, "purchased");
            assert_problem(&later.delete(&path(item)).await, 409, "purchased");
        }
        for status in ["SHIPPED", "DELIVERED", "CANCELLED"] {
            let refused = later.patch(&path_of, &json!({"status": status})).await;
            let is_same = refused.body["status"] == status;
            assert!(is_same || refused.body["type"] == "/problems/order-status", "{status}: {}", refused.body);
        }
        for body in [json!({}), json!({"status": "PLACED"}), json!({"status": "shipped"}), json!({"status": null})] {
            assert_eq!(later.patch(&path_of, &body).await.status, 400, "{body}");
        }
        let stored = Stored::read(&shop.stack).await;
        stored.check(parsed(START));
    }
    shop.stack.stop().await;
}

/// A stack of the cart whose jobs run only when the test invokes them.
pub(crate) async fn without_jobs() -> Stack {
    let stream = "          Type: DynamoDB\n          Properties:\n";
    stocked(changed("cart", (stream, 1), &format!("{stream}            Enabled: false\n"))).await
}

/// Fills a cart with products of different quantities. Returns the cart items, newest first.
async fn fill(client: &Client, account: &str, count: usize) -> Vec<Value> {
    for number in 0..count {
        let body = json!({"sku": format!("sku-{number}"), "quantity": number % 7 + 1});
        assert_eq!(client.post(&items_of(account), &body).await.status, 201);
    }
    let (items, _) = client.all(&format!("{}?limit=100", items_of(account))).await;
    assert_eq!(items.len(), count);
    items
}

/// The event of the stream of jobs.
pub(crate) fn job_event(order: &str, status: &str) -> Value {
    let keys = json!({"PK": {"S": format!("JOB#{order}-{status}")}, "SK": {"S": "JOB"}});
    json!({"Records": [{
        "eventID": "1", "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1", "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/local-CartJobs/stream/x",
        "dynamodb": {"Keys": keys, "NewImage": keys, "SequenceNumber": "1", "SizeBytes": 1, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }]})
}

/// Runs the job, and kills it directly before and after each of its calls. Calls `check` after each
/// death. Returns the number of deaths.
async fn run_killed_at_every_call(stack: &Stack, event: &Value, check: impl AsyncFn()) -> usize {
    let proxy = Proxy::start(stack.dynamo_url()).await;
    let mut deaths = 0;
    for number in 1..100 {
        for moment in MOMENTS {
            let process = Process::start(stack, &proxy, "continue-cart-job", &function_named("continue-cart-job"));
            proxy.rule(move |call| if call.number == number { Fault::Death(moment) } else { Fault::None });
            if let Some(invocation) = process.run(event, MINUTE).await {
                let calls: Vec<_> = proxy.calls().into_iter().map(|call| call.action).collect();
                println!("{deaths} deaths, then {:?} after {calls:?}", invocation.answer);
                return deaths;
            }
            deaths += 1;
            check().await;
        }
    }
    unreachable!("the job does not end");
}

/// Checks that all reads of the account show the order as purchased, and nothing in the cart.
async fn must_be_bought(client: &Client, account: &str, before: &[Value], order: &Value) {
    let lines = order["items"].as_array().expect("items");
    assert_eq!(client.get(&items_of(account)).await.body["items"], json!([]));
    for limit in [7, 100] {
        let (bought, _) = client.all(&format!("{}?status=PURCHASED&limit={limit}", items_of(account))).await;
        assert_eq!(texts(&bought, "itemId"), texts(lines, "itemId"), "{limit}");
        let is_of_order = |one: &Value| one["orderId"] == order["orderId"] && one["status"] == "PURCHASED";
        assert!(bought.iter().all(is_of_order), "{bought:?}");
        for (one, line) in bought.iter().zip(lines) {
            assert_eq!((&one["quantity"], &one["price"]), (&line["quantity"], &line["price"]));
        }
    }
    for item in before.iter().step_by(37) {
        let read = client.get(&path(item)).await.body;
        assert_eq!((&read["status"], &read["orderId"]), (&json!("PURCHASED"), &order["orderId"]));
    }
    assert_eq!(client.get(&order_of(account, order)).await.body, *order);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_of_200_lines_is_visible_as_a_whole_while_its_job_is_killed_at_every_call() {
    let stack = without_jobs().await;
    let client = Client::operator(&stack);
    let before = fill(&client, "A-1", MAX_ITEMS).await;
    let order = client.post(&checkout_of("A-1"), &json!({})).await.body;
    assert_eq!(order["items"].as_array().map(Vec::len), Some(MAX_ITEMS), "{order}");
    must_be_bought(&client, "A-1", &before, &order).await;
    // The items cannot be changed or bought again, although they are still stored as ACTIVE.
    assert_eq!(client.get("/cart/skus/sku-0/items").await.body["items"].as_array().map(Vec::len), Some(1));
    assert_problem(&client.patch(&path(&before[0]), &json!({"quantity": 9})).await, 409, "purchased");
    assert_problem(&client.post(&checkout_of("A-1"), &json!({})).await, 409, "cart-empty");
    let id = text(&order, "orderId");
    let deaths = run_killed_at_every_call(&stack, &job_event(id, "PURCHASED"), async || {
        must_be_bought(&client, "A-1", &before, &order).await;
    })
    .await;
    assert!(deaths > 10, "{deaths}");
    must_be_bought(&client, "A-1", &before, &order).await;
    let stored = Stored::read(&stack).await;
    stored.check(parsed(START));
    assert!(!stored.is_moving(), "{:?}", stored.orders);
    assert_eq!(stored.cart_items.len(), MAX_ITEMS, "each item is stored once");
    assert_eq!(
        client.get("/cart/skus/sku-0/items?status=PURCHASED").await.body["items"].as_array().map(Vec::len),
        Some(1)
    );

    // The product team ships the order. Its items follow in another job.
    let shipped = client.patch(&order_of("A-1", &order), &json!({"status": "SHIPPED"})).await;
    assert_eq!((shipped.status, &shipped.body["status"]), (200, &json!("SHIPPED")));
    run_killed_at_every_call(&stack, &job_event(id, "SHIPPED"), async || {}).await;
    let (items, _) = client.all(&format!("{}?status=SHIPPED&limit=100", items_of("A-1"))).await;
    assert_eq!(texts(&items, "itemId"), texts(order["items"].as_array().expect("items"), "itemId"));
    let stored = Stored::read(&stack).await;
    stored.check(parsed(START));
    assert!(!stored.is_moving() && stored.cart_items.len() == MAX_ITEMS);
    stack.stop().await;
}

#[tokio::test]
async fn a_job_moves_the_items_of_a_large_order_and_restores_an_item_that_was_deleted_by_hand() {
    let shop = Shop::open(30).await;
    fill(&shop.now, "A-1", MAX_MOVED_AT_ONCE + 8).await;
    let order = shop.now.post(&checkout_of("A-1"), &json!({})).await.body;
    drained(&shop.now, "continue-cart-job").await;
    let bought = Stored::read(&shop.stack).await.cart_items;
    delete(&shop.stack, "Cart", "A-1", &bought[3].sort.to_string()).await;
    let shipped = shop.now.patch(&order_of("A-1", &order), &json!({"status": "SHIPPED"})).await;
    assert_eq!(shipped.status, 200);
    drained(&shop.now, "continue-cart-job").await;
    let stored = Stored::read(&shop.stack).await;
    assert!(!stored.is_moving());
    let is_shipped = |item: &cart::CartItem| item.sort.status == keys::cart::Status::Shipped;
    assert_eq!(stored.cart_items.iter().filter(|item| is_shipped(item)).count(), MAX_MOVED_AT_ONCE + 8);
    let job = shop.now.get(&format!("/cart/jobs/{}-SHIPPED", text(&order, "orderId"))).await.body;
    assert_eq!((&job["kind"], &job["status"]), (&json!("move-items"), &json!("done")), "{job}");
    let retry = shop.now.post(&format!("/cart/jobs/{}-SHIPPED/retry", text(&order, "orderId")), &json!({})).await;
    assert_problem(&retry, 409, "job-not-failed");
    shop.stack.stop().await;
}

fn value(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

async fn delete(stack: &Stack, table: &str, partition: &str, sort: &str) {
    let (client, table) = (stack.client().expect("a client"), stack.table(table).expect("a table"));
    let delete = client.delete_item().table_name(table).key("PK", value(partition)).key("SK", value(sort));
    delete.send().await.expect("deleted");
}

/// Places an order whose items a job has to move, and returns it.
async fn buy_many(client: &Client) -> Value {
    fill(client, "A-1", MAX_MOVED_AT_ONCE + 8).await;
    client.post(&checkout_of("A-1"), &json!({})).await.body
}

async fn run_job(client: &Client, order: &Value, status: &str) {
    let answer = client.invoke("continue-cart-job", &job_event(text(order, "orderId"), status)).await;
    assert_eq!(answer.body["batchItemFailures"], json!([]), "{}", answer.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_runs_again_after_its_order_was_shipped_changes_nothing() {
    let stack = without_jobs().await;
    let (client, proxy) = (Client::operator(&stack), Proxy::start(stack.dynamo_url()).await);
    let order = buy_many(&client).await;
    let path = order_of("A-1", &order);
    // The job has moved all items, but dies before it records its end.
    let process = Process::start(&stack, &proxy, "continue-cart-job", &function_named("continue-cart-job"));
    let is_end = |call: &Call| call.action == "UpdateItem" && call.body.to_string().contains(r#""S":"done""#);
    proxy.rule(move |call| if is_end(call) { Fault::Death(Moment::Before) } else { Fault::None });
    assert!(process.run(&job_event(text(&order, "orderId"), "PURCHASED"), MINUTE).await.is_none());
    assert!(!Stored::read(&stack).await.is_moving());
    assert_eq!(client.patch(&path, &json!({"status": "SHIPPED"})).await.status, 200);
    run_job(&client, &order, "PURCHASED").await;
    let item = &order["items"][0];
    let item = client.get(&format!("{}/{}", items_of("A-1"), text(item, "itemId"))).await.body;
    assert_eq!(item["status"], "SHIPPED", "an item has the status of its order before it was moved: {item}");
    for _ in 0..2 {
        run_job(&client, &order, "SHIPPED").await;
    }
    assert_eq!(client.patch(&path, &json!({"status": "DELIVERED"})).await.status, 200);
    for status in ["PURCHASED", "SHIPPED"] {
        run_job(&client, &order, status).await;
    }
    let stored = Stored::read(&stack).await;
    stored.check(parsed(START));
    let shipped = stored.cart_items.iter().filter(|item| item.sort.status == keys::cart::Status::Shipped).count();
    assert_eq!((stored.cart_items.len(), shipped), (MAX_MOVED_AT_ONCE + 8, MAX_MOVED_AT_ONCE + 8));
    stack.stop().await;
}

/// Replaces an attribute of an item by a text that cannot be read.
async fn damage(stack: &Stack, sort: &str, attribute: &str) {
    let (client, table) = (stack.client().expect("a client"), stack.table("Cart").expect("a table"));
    let update = client.update_item().table_name(table).key("PK", value("A-1")).key("SK", value(sort));
    let update = update.update_expression("SET #a = :a").expression_attribute_names("#a", attribute);
    update.expression_attribute_values(":a", value("?")).send().await.expect("damaged");
}

#[tokio::test]
async fn an_unreadable_item_does_not_stop_the_job_of_its_order() {
    let stack = without_jobs().await;
    let client = Client::operator(&stack);
    let order = buy_many(&client).await;
    let active = Stored::read(&stack).await.cart_items;
    damage(&stack, &active[5].sort.to_string(), "Quantity").await;
    run_job(&client, &order, "PURCHASED").await;
    let job = client.get(&format!("/cart/jobs/{}-PURCHASED", text(&order, "orderId"))).await.body;
    assert_eq!(job["status"], "done", "{job}");
    let (bought, _) = client.all(&format!("{}?status=PURCHASED&limit=100", items_of("A-1"))).await;
    assert_eq!(bought.len(), MAX_MOVED_AT_ONCE + 8);
    let stored = Stored::read(&stack).await;
    stored.check(parsed(START));
    assert!(!stored.is_moving());
    stack.stop().await;
}

#[tokio::test]
async fn the_next_request_for_an_order_starts_its_lost_job_again() {
    let stack = without_jobs().await;
    let client = Client::operator(&stack);
    let order = buy_many(&client).await;
    let (path, job) = (order_of("A-1", &order), format!("{}-PURCHASED", text(&order, "orderId")));
    delete(&stack, "CartJobs", &format!("JOB#{job}"), "JOB").await;
    let later = At::new(&stack, &client, jiff::Timestamp::now() + SignedDuration::from_mins(2));
    assert_problem(&later.patch(&path, &json!({"status": "SHIPPED"})).await, 503, "unavailable");
    assert_eq!(client.get(&format!("/cart/jobs/{job}")).await.body["status"], "running");
    run_job(&client, &order, "PURCHASED").await;
    assert_eq!(later.patch(&path, &json!({"status": "CANCELLED"})).await.status, 200);
    run_job(&client, &order, "CANCELLED").await;
    assert!(!Stored::read(&stack).await.is_moving());
    stack.stop().await;
}

#[tokio::test]
async fn deleted_contents_are_restored_without_the_items_of_an_order_that_is_moving() {
    let stack = without_jobs().await;
    let client = Client::operator(&stack);
    let order = buy_many(&client).await;
    delete(&stack, "Cart", "A-1", "CART").await;
    let more = client.post(&items_of("A-1"), &json!({"sku": "sku-0"})).await;
    assert_eq!(more.status, 201, "{}", more.body);
    assert_eq!(client.get(&items_of("A-1")).await.body["items"], json!([more.body]));
    let bought = async || client.all(&format!("{}?status=PURCHASED&limit=100", items_of("A-1"))).await.0;
    let lines = order["items"].as_array().expect("items");
    assert_eq!(texts(&bought().await, "itemId"), texts(lines, "itemId"));
    run_job(&client, &order, "PURCHASED").await;
    assert_eq!(texts(&bought().await, "itemId"), texts(lines, "itemId"));
    let stored = Stored::read(&stack).await;
    stored.check(parsed(START));
    assert!(!stored.is_moving());
    stack.stop().await;
}

/// The request has the same outcome as in a cart whose contents are complete.
#[tokio::test]
async fn each_change_restores_deleted_contents() {
    let stack = stocked(stack()).await;
    let client = Client::operator(&stack);
    let saved = json!({"status": "SAVED"});
    for change in 0..6 {
        let mut outcomes = Vec::new();
        for account in ["A-1", "A-2"].map(|name| format!("{name}-{change}")) {
            fill(&client, &account, 2).await;
            let pot = client.post(&items_of(&account), &json!({"sku": "pot"})).await.body;
            assert_eq!(client.patch(&path(&pot), &saved).await.status, 200);
            let first = client.get(&items_of(&account)).await.body["items"][0].clone();
            if account.starts_with("A-1") {
                delete(&stack, "Cart", &account, "CART").await;
                let read = client.get(&items_of(&account)).await;
                assert_eq!(read.body["items"].as_array().map(Vec::len), Some(2), "reads show the stored items");
            }
            let answer = match change {
                0 => client.patch(&path(&first), &json!({"quantity": 5})).await,
                1 => send(client.request("DELETE", &path(&first))).await,
                2 => client.patch(&path(&pot), &json!({"status": "ACTIVE"})).await,
                3 => client.post(&items_of(&account), &json!({"sku": "cup"})).await,
                4 => client.post_once(&items_of(&account), "K", &json!({"sku": "sku-0"})).await,
                _ => client.post(&checkout_of(&account), &json!({})).await,
            };
            let left = client.all(&items_of(&account)).await.0;
            outcomes.push((answer.status, answer.body["quantity"].clone(), left.len()));
        }
        assert_eq!(outcomes[0], outcomes[1], "change {change}");
        Stored::read(&stack).await.check(parsed(START));
    }
    stack.stop().await;
}

#[tokio::test]
async fn a_checkout_repairs_a_damaged_pointer() {
    let stack = stocked(stack()).await;
    let client = Client::operator(&stack);
    let pot = client.post(&items_of("A-1"), &json!({"sku": "pot"})).await.body;
    for status in ["SAVED", "ACTIVE"] {
        assert_eq!(client.patch(&path(&pot), &json!({"status": status})).await.status, 200);
    }
    damage(&stack, &format!("ITEM#{}", text(&pot, "itemId")), "CartItem").await;
    assert_eq!(client.get(&path(&pot)).await.status, 500);
    assert_eq!(client.post(&checkout_of("A-1"), &json!({})).await.status, 200);
    assert_eq!(client.get(&path(&pot)).await.body["status"], "PURCHASED");
    stack.stop().await;
}
