//! Orders: their totals and prices, their status, and large orders whose cart items follow in a job
//! (docs/requirements/cart.md#orders, docs/decisions/cart-orders.md).

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::SignedDuration;
use local::Stack;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Answer, Client, assert_problem,
    cart::{
        MAX_ITEMS, MAX_MOVED_AT_ONCE, Shop, checkout_of, in_yen, items_of, path, put_products, stack, stocked, stored,
    },
    changed,
    clock::{At, MILLISECOND, time},
    faults::{Call, Fault, MOMENTS, Moment, Process, Proxy},
    patterns::function_named,
    send, text, texts,
};

const START: &str = "2026-01-02T10:30:00.123Z";
const MINUTE: Duration = Duration::from_mins(1);
const JOB: &str = "continue-cart-job";
/// Number of items that a checkout leaves to a job.
const MANY: usize = MAX_MOVED_AT_ONCE + 8;

fn order_of(account: &str, order: &Value) -> String {
    format!("/cart/accounts/{account}/orders/{}", text(order, "orderId"))
}

/// The SKUs and prices of items, sorted.
fn prices(items: &Value) -> Vec<String> {
    let items = items.as_array().expect("items").iter();
    let mut prices: Vec<_> = items.map(|item| format!("{} {}", text(item, "sku"), text(item, "price"))).collect();
    prices.sort();
    prices
}

#[tokio::test]
async fn a_checkout_charges_the_current_prices_or_changes_nothing() {
    let shop = Shop::open(30).await;
    let at = shop.at(time(START));
    let put = async |price: &str, active: bool| {
        let body = json!({"name": "tea", "price": price, "currency": "USD", "active": active});
        assert_eq!(shop.now.put("/cart/products/tea", &body).await.status, 200);
    };
    let buy = async |body: Value| at.post(&checkout_of("A-1"), &body).await;
    at.add("A-1", "tea", 3).await;
    at.add("A-1", "cup", 2).await;
    put("4.10", true).await;
    let before = stored(&shop.stack).await;
    for expected in [json!("62.45"), json!("37.27"), json!(0), json!("37.281"), json!("-37.28")] {
        let refused = buy(json!({"expectedTotal": expected})).await;
        assert_problem(&refused, 409, "total-changed");
        assert_eq!((text(&refused.body, "total"), text(&refused.body, "currency")), ("37.28", "USD"));
        assert_eq!(prices(&refused.body["items"]), ["cup 12.49", "tea 4.10"]);
    }
    put("4.10", false).await;
    let refused = buy(json!({})).await;
    assert_problem(&refused, 409, "product-unavailable");
    assert!(text(&refused.body, "detail").contains("tea"), "{}", refused.body);
    put_products(&shop.stack, [in_yen("tea")]).await;
    assert_problem(&buy(json!({})).await, 409, "cart-currency");
    let lonely = buy(json!({"expectedCurrency": "USD"})).await;
    assert_eq!((lonely.status, &lonely.body["errors"][0]["pointer"]), (400, &json!("/body/expectedTotal")));
    assert!(stored(&shop.stack).await == before);
    put("4.10", true).await;
    let order = buy(json!({"expectedTotal": 37.28})).await.body;
    assert_eq!(["total", "currency", "status"].map(|name| text(&order, name)), ["37.28", "USD", "PLACED"]);
    assert_eq!(prices(&order["items"]), ["cup 12.49", "tea 4.10"]);
    // Later prices change neither the order nor the purchased items.
    put("9.99", true).await;
    assert_eq!(at.get(&order_of("A-1", &order)).await.body, order);
    let bought = at.of_account("A-1", "PURCHASED").await;
    assert!(bought.iter().all(|one| one["orderId"] == order["orderId"] && one["priceChanged"].is_null()), "{bought:?}");
    assert_eq!(prices(&bought.into()), ["cup 12.49", "tea 4.10"]);
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
        orders.insert(0, at.post(&checkout_of("A-1"), &json!({})).await.body);
    }
    let at = shop.at(time(START));
    assert!(texts(&orders, "placedAt").is_sorted_by(|one, other| one > other), "{orders:?}");
    for order in &mut orders {
        assert_eq!(at.get(&order_of("A-1", order)).await.body, *order);
        order.as_object_mut().expect("an object").remove("items");
    }
    assert_eq!(at.all("/cart/accounts/A-1/orders?limit=5").await.0, orders);
    assert_problem(&at.get(&order_of("A-2", &orders[0])).await, 404, "not-found");
    shop.stack.stop().await;
}

/// The statuses that an order takes in turn, those that it refuses afterwards, and the status of
/// its items.
const LIVES: [(&[&str], &[&str], &str); 3] = [
    (&["SHIPPED", "SHIPPED"], &["CANCELLED"], "SHIPPED"),
    (&["SHIPPED", "DELIVERED", "DELIVERED"], &["SHIPPED", "CANCELLED"], "SHIPPED"),
    (&["CANCELLED", "CANCELLED"], &["SHIPPED", "DELIVERED"], "CANCELLED"),
];

#[tokio::test]
async fn the_items_of_an_order_follow_its_status() {
    let shop = Shop::open(30).await;
    let at = shop.at(time(START));
    for (number, (statuses, refused, of_items)) in LIVES.into_iter().enumerate() {
        let account = format!("A-{number}");
        let item = at.add(&account, "tea", 2).await;
        let order = at.post(&checkout_of(&account), &json!({})).await.body;
        let to = async |status: &str| at.patch(&order_of(&account, &order), &json!({"status": status})).await;
        assert_problem(&to("DELIVERED").await, 409, "order-status");
        for status in statuses.iter().copied() {
            let changed = to(status).await;
            assert_eq!((changed.status, text(&changed.body, "status")), (200, status), "{}", changed.body);
        }
        for status in refused.iter().copied() {
            assert_problem(&to(status).await, 409, "order-status");
        }
        let read = at.get(&path(&item)).await.body;
        assert_eq!((text(&read, "status"), &read["orderId"]), (of_items, &order["orderId"]));
        assert_eq!(at.of_account(&account, "PURCHASED").await, Vec::<Value>::new());
        assert_eq!(at.of_account(&account, of_items).await, std::slice::from_ref(&read));
        assert!(at.of_sku("tea", of_items).await.contains(&read));
        assert_problem(&at.patch(&path(&item), &json!({"quantity": 9})).await, 409, "purchased");
        assert_problem(&at.delete(&path(&item)).await, 409, "purchased");
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn operators_see_who_changed_an_order_last() {
    let stack = stocked(stack()).await;
    let customer = Client::caller(&stack, "cart:read cart:write", &["A-1"]);
    let ann = Client::member(&stack, "cart:operate", "none", "ann");
    fill(&customer, "A-1", 1).await;
    let order = customer.post(&checkout_of("A-1"), &json!({})).await.body;
    let path = order_of("A-1", &order);
    assert_eq!(ann.get(&path).await.body["changedBy"], json!({"sub": "tester", "scope": "cart:write"}));
    let author = json!({"sub": "ann", "scope": "cart:operate"});
    assert_eq!(ann.patch(&path, &json!({"status": "SHIPPED"})).await.body["changedBy"], author);
    let bob = Client::member(&stack, "cart:operate", "none", "bob");
    let repeated = bob.patch(&path, &json!({"status": "SHIPPED"})).await;
    assert_eq!(repeated.body["changedBy"], author, "a request without a change has no author");
    assert_eq!(bob.get("/cart/accounts/A-1/orders").await.body["items"][0]["changedBy"], author);
    assert_eq!(customer.get(&path).await.body.get("changedBy"), None);
    stack.stop().await;
}

/// A stack of the cart whose jobs run only when the test invokes them.
pub(crate) async fn without_jobs() -> Stack {
    let stream = "        Jobs:\n          Type: DynamoDB\n          Properties:\n";
    stocked(changed("cart", (stream, 1), &format!("{stream}            Enabled: false\n"))).await
}

/// Fills a cart with products of different quantities. Returns the cart items, newest first.
pub(crate) async fn fill(client: &Client, account: &str, count: usize) -> Vec<Value> {
    for number in 0..count {
        let body = json!({"sku": format!("sku-{number}"), "quantity": number % 7 + 1});
        assert_eq!(client.post(&items_of(account), &body).await.status, 201);
    }
    client.all(&format!("{}?limit=100", items_of(account))).await.0
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

/// An order of the account `A-1` whose items a job has to move, when the test runs it.
struct Large {
    stack: Stack,
    client: Client,
    /// The items before the checkout.
    before: Vec<Value>,
    order: Value,
}

impl Large {
    async fn order(count: usize) -> Self {
        let stack = without_jobs().await;
        let client = Client::operator(&stack);
        let before = fill(&client, "A-1", count).await;
        let order = client.post(&checkout_of("A-1"), &json!({})).await.body;
        assert_eq!(order["items"].as_array().map(Vec::len), Some(count), "{order}");
        Self { stack, client, before, order }
    }

    fn event(&self, status: &str) -> Value {
        job_event(text(&self.order, "orderId"), status)
    }

    async fn run(&self, status: &str) {
        let answer = self.client.invoke(JOB, &self.event(status)).await;
        assert_eq!(answer.body["batchItemFailures"], json!([]), "{}", answer.body);
    }

    /// Changes the status of the order.
    async fn to(&self, status: &str) -> Answer {
        self.client.patch(&order_of("A-1", &self.order), &json!({"status": status})).await
    }

    fn job(&self, status: &str) -> String {
        format!("/cart/jobs/{}-{status}", text(&self.order, "orderId"))
    }

    /// The items with a status.
    async fn listed(&self, status: &str) -> Vec<Value> {
        self.client.all(&format!("{}?status={status}&limit=27", items_of("A-1"))).await.0
    }

    /// Checks that all reads show the order as purchased, and nothing in the cart.
    async fn must_be_bought(&self) {
        let Self { client, order, .. } = self;
        let lines = order["items"].as_array().expect("items");
        assert_eq!(client.get(&items_of("A-1")).await.body["items"], json!([]));
        let bought = self.listed("PURCHASED").await;
        assert_eq!(bought.len(), lines.len());
        for (one, line) in bought.iter().zip(lines) {
            assert_eq!((&one["orderId"], text(one, "status")), (&order["orderId"], "PURCHASED"));
            assert!(["itemId", "quantity", "price"].iter().all(|name| one[name] == line[name]), "{one} {line}");
        }
        for item in self.before.iter().step_by(37) {
            assert_eq!(client.get(&path(item)).await.body["status"], "PURCHASED");
        }
        assert_eq!(client.get(&order_of("A-1", order)).await.body, *order);
    }

    /// Checks that all items of the order are stored once, with this status, and that no job still
    /// has to move them.
    async fn must_be_moved(&self, status: &str) {
        let stored = stored(&self.stack).await;
        for item in stored.values() {
            assert!(item["Moving"].is_null() || item["Moving"] == json!({}), "{item}");
            let is_moved = text(item, "SK").starts_with(&format!("{status}#"));
            assert!(is_moved || item["Type"] != "CartItem" || item["Sku"] == "cup", "{item}");
        }
        assert_eq!(texts(&self.listed(status).await, "itemId"), texts(&self.before, "itemId"));
    }

    /// Runs the job, and kills it directly before and after each of its calls. Calls `check` after
    /// each death. Returns the number of deaths.
    async fn run_killed_at_every_call(&self, status: &str, check: impl AsyncFn()) -> usize {
        let proxy = Proxy::start(self.stack.dynamo_url()).await;
        let moments = (1..100).flat_map(|number| MOMENTS.map(|moment| (number, moment)));
        for (deaths, (number, moment)) in moments.enumerate() {
            let process = Process::start(&self.stack, &proxy, JOB, &function_named(JOB));
            proxy.rule(move |call| if call.number == number { Fault::Death(moment) } else { Fault::None });
            if process.run(&self.event(status), MINUTE).await.is_some() {
                return deaths;
            }
            check().await;
        }
        unreachable!("the job does not end");
    }
}

async fn delete(stack: &Stack, table: &str, partition: &str, sort: &str) {
    let (client, table) = (stack.client().expect("a client"), stack.table(table).expect("a table"));
    let delete = client.delete_item().table_name(table).key("PK", value(partition)).key("SK", value(sort));
    delete.send().await.expect("deleted");
}

fn value(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// Replaces an attribute of an item by a text that cannot be read.
async fn damage(stack: &Stack, sort: &str, attribute: &str) {
    let (client, table) = (stack.client().expect("a client"), stack.table("Cart").expect("a table"));
    let update = client.update_item().table_name(table).key("PK", value("A-1")).key("SK", value(sort));
    let update = update.update_expression("SET #a = :a").expression_attribute_names("#a", attribute);
    update.expression_attribute_values(":a", value("?")).send().await.expect("damaged");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_of_200_lines_is_visible_as_a_whole_while_its_job_is_killed_at_every_call() {
    let large = Large::order(MAX_ITEMS).await;
    large.must_be_bought().await;
    // The items cannot be changed or bought again, although they are still stored as ACTIVE.
    assert_problem(&large.client.patch(&path(&large.before[0]), &json!({"quantity": 9})).await, 409, "purchased");
    assert_problem(&large.client.post(&checkout_of("A-1"), &json!({})).await, 409, "cart-empty");
    let deaths = large.run_killed_at_every_call("PURCHASED", async || large.must_be_bought().await).await;
    assert!(deaths > 10, "{deaths}");
    large.must_be_bought().await;
    large.must_be_moved("PURCHASED").await;
    // The product team ships the order. Its items follow in another job.
    assert_eq!(large.to("SHIPPED").await.status, 200);
    large.run_killed_at_every_call("SHIPPED", async || {}).await;
    large.must_be_moved("SHIPPED").await;
    large.stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_runs_again_after_its_order_was_shipped_changes_nothing() {
    let large = Large::order(MANY).await;
    let proxy = Proxy::start(large.stack.dynamo_url()).await;
    // The job has moved all items, but dies before it records its end.
    let process = Process::start(&large.stack, &proxy, JOB, &function_named(JOB));
    let is_end = |call: &Call| call.action == "UpdateItem" && call.body.to_string().contains(r#""S":"done""#);
    proxy.rule(move |call| if is_end(call) { Fault::Death(Moment::Before) } else { Fault::None });
    assert!(process.run(&large.event("PURCHASED"), MINUTE).await.is_none());
    large.must_be_moved("PURCHASED").await;
    assert_eq!(large.to("SHIPPED").await.status, 200);
    large.run("PURCHASED").await;
    let item = large.client.get(&path(&large.before[0])).await.body;
    assert_eq!(item["status"], "SHIPPED", "an item has the status of its order before it was moved: {item}");
    large.run("SHIPPED").await;
    assert_eq!(large.to("DELIVERED").await.status, 200);
    large.run("PURCHASED").await;
    large.run("SHIPPED").await;
    large.must_be_moved("SHIPPED").await;
    large.stack.stop().await;
}

/// The job needs only the lines. It also restores an item that was deleted by hand.
#[tokio::test]
async fn an_unreadable_item_does_not_stop_the_job_of_its_order() {
    let large = Large::order(MANY).await;
    let Large { stack, client, before, .. } = &large;
    let active: Vec<_> = stored(stack).await.into_keys().filter(|(_, sort)| sort.starts_with("ACTIVE#")).collect();
    damage(stack, &active[5].1, "Quantity").await;
    delete(stack, "Cart", "A-1", &active[7].1).await;
    // The contents of the cart are restored without the items that the job has to move.
    delete(stack, "Cart", "A-1", "CART").await;
    let more = client.post(&items_of("A-1"), &json!({"sku": "cup"})).await;
    assert_eq!(more.status, 201, "{}", more.body);
    assert_eq!(texts(&large.listed("PURCHASED").await, "itemId"), texts(before, "itemId"));
    large.run("PURCHASED").await;
    assert_eq!(client.get(&items_of("A-1")).await.body["items"], json!([more.body]));
    large.must_be_moved("PURCHASED").await;
    let job = client.get(&large.job("PURCHASED")).await.body;
    assert_eq!((text(&job, "kind"), text(&job, "status")), ("move-items", "done"), "{job}");
    let retried = client.post(&format!("{}/retry", large.job("PURCHASED")), &json!({})).await;
    assert_problem(&retried, 409, "job-not-failed");
    // Without the lines, the job fails.
    assert_eq!(large.to("CANCELLED").await.status, 200);
    damage(stack, &format!("LINES#{}", text(&large.order, "orderId")), "Lines").await;
    client.invoke(JOB, &large.event("CANCELLED")).await;
    let job = client.get(&large.job("CANCELLED")).await.body;
    assert_eq!((text(&job, "status"), text(&job, "reason")), ("failed", "A stored OrderLines cannot be read."));
    large.stack.stop().await;
}

#[tokio::test]
async fn the_next_request_for_an_order_starts_its_lost_job_again() {
    let large = Large::order(MANY).await;
    let job = large.job("PURCHASED");
    delete(&large.stack, "CartJobs", &job.replace("/cart/jobs/", "JOB#"), "JOB").await;
    let later = At::new(&large.stack, &large.client, jiff::Timestamp::now() + SignedDuration::from_mins(2));
    let to = async |status: &str| later.patch(&order_of("A-1", &large.order), &json!({"status": status})).await;
    assert_problem(&to("SHIPPED").await, 503, "unavailable");
    assert_eq!(large.client.get(&job).await.body["status"], "running");
    large.run("PURCHASED").await;
    assert_eq!(to("CANCELLED").await.status, 200);
    large.stack.stop().await;
}

#[tokio::test]
async fn each_change_restores_deleted_contents() {
    let stack = stocked(stack()).await;
    let client = Client::operator(&stack);
    for change in 0..4 {
        let account = format!("A-{change}");
        let items = fill(&client, &account, 2).await;
        delete(&stack, "Cart", &account, "CART").await;
        assert_eq!(client.all(&items_of(&account)).await.0, items, "reads show the stored items");
        let answer = match change {
            0 => client.patch(&path(&items[0]), &json!({"quantity": 5})).await,
            1 => send(client.request("DELETE", &path(&items[0]))).await,
            2 => client.post(&items_of(&account), &json!({"sku": "sku-0"})).await,
            _ => client.post(&checkout_of(&account), &json!({})).await,
        };
        let left = client.all(&items_of(&account)).await.0.len();
        assert_eq!((answer.status, left), [(200, 2), (204, 1), (200, 2), (200, 0)][change], "{}", answer.body);
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
