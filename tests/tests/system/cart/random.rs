//! Compares the cart with a model under random requests. Many customers send concurrent requests
//! over several weeks of simulated time. Functions are killed at any call, and responses are lost.

use cart::{OrderStatus, Product};
use fastrand::Rng;
use function::Function;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use keys::{
    AccountId, Sku, TimestampMillis,
    cart::{ItemId, Status},
};
use local::{Builder, Rates, Stack};
use money::Money;
use serde_json::json;
use std::{collections::BTreeMap, time::Duration};
use system_tests::{
    Client,
    cart::{
        model::{Account, Asked, Operation, Reply, Stored},
        product, put_products, stocked,
    },
    faults::{Call, Fault, MOMENTS, Moment, Process, Proxy},
    parsed, stack,
};

const STATUSES: [Status; 3] = [Status::Active, Status::Saved, Status::Purchased];
const NEW: [Status; 2] = [Status::Active, Status::Saved];
const MINUTE: Duration = Duration::from_mins(1);

/// Returns the random generator of this run. The environment variable `CART_SEED` repeats a run.
fn random() -> Rng {
    let seed = std::env::var("CART_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("CART_SEED={seed} repeats the requests of this run");
    Rng::with_seed(seed)
}

fn start() -> TimestampMillis {
    "2099-11-30T12:00:00.123Z".parse().expect("a time")
}

fn later(now: TimestampMillis, by: SignedDuration) -> TimestampMillis {
    TimestampMillis::containing(now.instant() + by).expect("a time")
}

/// Fault of a request.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    None,
    /// The function is killed directly before or after its n-th call.
    Death(usize, Moment),
    /// The connection closes directly before or after the n-th call, and the function continues.
    Lost(usize, Moment),
}

impl Trouble {
    fn of(self, call: &Call) -> Fault {
        match self {
            Self::Death(number, moment) if call.number == number => Fault::Death(moment),
            Self::Lost(number, moment) if call.number == number => Fault::Lost(moment),
            _ => Fault::None,
        }
    }
}

/// Simulated customer: the expected content of the account, and the state for generating requests.
struct Customer {
    id: AccountId,
    account: Account,
    /// Number of products that the customer orders. A small number causes many requests for the
    /// same product. A large number exceeds the capacity of the cart.
    skus: usize,
    rng: Rng,
    /// Earlier requests with an idempotency key.
    keyed: Vec<Operation>,
    /// Requests that have an idempotency key and an unknown outcome. The customer repeats them.
    unanswered: Vec<Operation>,
}

impl Customer {
    fn new(number: usize, rng: &mut Rng) -> Self {
        let skus = if number % 10 == 9 { 40 } else { 4 };
        let id = format!("C-{number}").parse().expect("an account");
        let rng = Rng::with_seed(rng.u64(..));
        Self { id, account: Account::default(), skus, rng, keyed: Vec::new(), unanswered: Vec::new() }
    }

    fn quantity(&mut self) -> u32 {
        if self.rng.u8(..20) == 0 { self.rng.u32(5_000..=9_999) } else { self.rng.u32(1..=5) }
    }

    fn key(&mut self) -> Option<String> {
        (self.rng.u8(..5) < 2).then(|| format!("K-{}", self.keyed.len() + self.rng.usize(..50)))
    }

    /// Selects a cart item. The item may be removed or merged, or may not exist.
    fn item(&mut self) -> ItemId {
        let cart_items: Vec<_> = self.account.cart_items.iter().map(|cart_item| cart_item.sort.item).collect();
        // Recent items are more likely, so that concurrent requests often change the same item.
        let late = cart_items.len().saturating_sub(5);
        let some = if self.rng.bool() { &cart_items[late..] } else { &cart_items[..] };
        self.rng.choice(some).copied().unwrap_or_else(|| ItemId::new(Timestamp::UNIX_EPOCH, &system_tests::random()))
    }

    fn add(&mut self) -> Operation {
        let sku: Sku = format!("S-{}", self.rng.usize(..self.skus)).parse().expect("a product");
        Operation::Add { sku, quantity: self.quantity(), key: self.key() }
    }

    fn change(&mut self) -> Operation {
        let item = self.item();
        let (quantity, status) = match self.rng.u8(..4) {
            0 => (Some(self.quantity()), None),
            1 => (Some(self.quantity()), self.rng.choice(NEW)),
            _ => (None, self.rng.choice(NEW)),
        };
        Operation::Change { item, quantity, status }
    }

    fn operation(&mut self) -> Operation {
        if !self.keyed.is_empty() && self.rng.u8(..10) == 0 {
            let again = self.rng.usize(..self.keyed.len());
            return self.keyed[again].clone();
        }
        let hoards = self.skus > 20;
        match self.rng.u8(..20) {
            0..=5 => self.change(),
            6..=7 => Operation::Remove { item: self.item() },
            8 if !hoards || self.rng.u8(..5) == 0 => Operation::CheckOut { key: self.key() },
            10 => self.set_status(),
            9 => Operation::Look { item: self.item() },
            _ => self.add(),
        }
    }

    /// Ships, delivers or cancels an order. The order may not exist.
    fn set_status(&mut self) -> Operation {
        let orders: Vec<_> = self.account.orders.keys().cloned().collect();
        let order = self.rng.choice(&orders).cloned().unwrap_or_else(|| "O-1".parse().expect("an order"));
        let status = [OrderStatus::Shipped, OrderStatus::Delivered, OrderStatus::Cancelled];
        Operation::SetStatus { order, status: self.rng.choice(status).expect("a status") }
    }

    /// Returns the next concurrent requests: the requests to repeat, and new ones.
    fn operations(&mut self, most: usize) -> Vec<Operation> {
        let mut operations = std::mem::take(&mut self.unanswered);
        while operations.len() < most {
            operations.push(self.operation());
        }
        self.keyed.extend(operations.iter().filter(|operation| operation.key().is_some()).cloned());
        operations
    }

    /// Returns the fault of each request. At most one of the concurrent requests is killed or loses
    /// a response.
    fn troubles(&mut self, operations: &[Operation]) -> Vec<Trouble> {
        let mut troubles = vec![Trouble::None; operations.len()];
        let (which, call) = (self.rng.usize(..operations.len()), self.rng.usize(1..=6));
        let moment = self.rng.choice(MOMENTS).expect("a moment");
        // The SDK retries a lost call. Setting a quantity twice has the same result, unless another
        // request changes it in the meantime. Requests that set a quantity therefore lose no call.
        let sets = matches!(operations[which], Operation::Change { status: None, .. });
        troubles[which] = match self.rng.u8(..3) {
            0 => Trouble::Death(call, moment),
            1 if !sets => Trouble::Lost(call, moment),
            _ => Trouble::None,
        };
        troubles
    }

    /// Updates the expected account. Panics if no order of the requests explains the responses and
    /// the stored items.
    fn learn(&mut self, asked: &[Asked], stored: &Stored) {
        let found = stored.account(&self.id);
        let end = self.account.explain(&self.id, asked, &found);
        let Self { id, account, .. } = self;
        assert!(
            end.is_some(),
            "{id}: no order of {asked:#?}\napplied to {:#?}\nexplains the stored items {:#?}",
            account.cart_items,
            found.cart_items
        );
        let end = end.unwrap_or_default();
        assert!(end.is_balanced(), "{}: {asked:#?}", self.id);
        self.account = end;
        let lost = asked.iter().filter(|asked| asked.reply.is_none() && asked.operation.key().is_some());
        self.unanswered = lost.map(|asked| asked.operation.clone()).collect();
    }
}

/// Sends the requests concurrently. A reply is `None` if the function was killed or if the response
/// asks for a retry.
async fn ask(
    stack: &Stack,
    (proxy, functions): (&Proxy, &BTreeMap<&str, Function>),
    account: &AccountId,
    requests: Vec<(Operation, TimestampMillis, Trouble)>,
) -> Vec<Asked> {
    join_all(requests.into_iter().map(async |(operation, now, trouble)| {
        if let Trouble::None = trouble {
            return operation.ask(stack, account, now).await;
        }
        let name = operation.function();
        let process = Process::start(stack, proxy, name, &functions[name]);
        proxy.rule(move |call| trouble.of(call));
        let invocation = process.run(&operation.event(account, now), MINUTE).await;
        let reply = invocation.map(|invocation| Reply::read(&invocation.answer.expect("an answer")));
        Asked { operation, now, reply: reply.and_then(Reply::heard) }
    }))
    .await
}

/// Returns the time between two rounds: usually seconds, sometimes the lifetime of a cart item.
fn pause(rng: &mut Rng) -> SignedDuration {
    match rng.u8(..10) {
        0 => SignedDuration::ZERO,
        1 => SignedDuration::from_hours(24 * rng.i64(1..=3)),
        2 => SignedDuration::from_hours(24 * rng.i64(25..=32)),
        _ => SignedDuration::from_millis(rng.i64(1..=10_000)),
    }
}

/// Returns whether a cart item expires at about `now`. The result of a request would then depend on
/// the exact time of the request.
fn expires_soon(account: &Account, now: TimestampMillis) -> bool {
    let now = now.instant().as_second();
    account.cart_items.iter().filter_map(|cart_item| cart_item.expires_at).any(|at| (now - 2..=now + 2).contains(&at))
}

fn functions() -> BTreeMap<&'static str, Function> {
    cart::patterns().into_iter().map(|pattern| (pattern.name, (pattern.function)())).collect()
}

/// Changes the price, currency or availability of some products.
async fn change_products(stack: &Stack, rng: &mut Rng, catalog: &mut BTreeMap<Sku, Product>) {
    for _ in 0..rng.usize(..4) {
        let sku = format!("S-{}", rng.usize(..8));
        let (amount, currency) =
            rng.choice([("12.40", "USD"), ("0", "USD"), ("12.49", "USD"), ("3", "EUR")]).expect("a price");
        let price = Money::new(parsed(amount), parsed(currency)).expect("a price");
        let product = Product { price, active: rng.u8(..8) > 0, ..product(&sku) };
        put_products(stack, [product.clone()]).await;
        catalog.insert(product.sku.clone(), product);
    }
}

async fn twenty_customers(builder: Builder, rounds: usize, at_once: usize) {
    let mut rng = random();
    let stack = stocked(builder).await;
    let is_hostile = stack.is_hostile();
    let mut customers: Vec<_> = (0..20).map(|number| Customer::new(number, &mut rng)).collect();
    let proxies = join_all((0..customers.len()).map(|_| Proxy::start(stack.dynamo_url()))).await;
    let functions = functions();
    let (mut now, mut unanswered, mut died) = (start(), 0, 0);
    let mut catalog = BTreeMap::new();
    for _ in 0..rounds {
        change_products(&stack, &mut rng, &mut catalog).await;
        // An addition may copy the earlier price for a moment.
        stack.catch_up();
        for customer in &mut customers {
            customer.account.catalog.clone_from(&catalog);
        }
        let asked = join_all(customers.iter_mut().zip(&proxies).map(async |(customer, proxy)| {
            let operations = customer.operations(at_once);
            // The proxies would bypass the faults of the hostile mode.
            let none = || vec![Trouble::None; operations.len()];
            let troubles = if is_hostile { none() } else { customer.troubles(&operations) };
            let skew = if expires_soon(&customer.account, now) { 1 } else { 1_000 };
            let requests = operations.into_iter().zip(troubles).map(|(operation, trouble)| {
                let now = later(now, SignedDuration::from_millis(customer.rng.i64(0..skew)));
                (operation, now, trouble)
            });
            let requests = requests.collect();
            ask(&stack, (proxy, &functions), &customer.id, requests).await
        }))
        .await;
        let stored = Stored::read(&stack).await;
        stored.check(now);
        for (customer, asked) in customers.iter_mut().zip(&asked) {
            customer.learn(asked, &stored);
            unanswered += asked.iter().filter(|asked| asked.reply.is_none()).count();
            died += customer.unanswered.len();
        }
        now = later(now, pause(&mut rng));
    }
    let requests = rounds * at_once * customers.len();
    println!("{requests} requests, {unanswered} without a response, {died} of them repeated with their key");
    let is_enough = if is_hostile { unanswered > 0 } else { unanswered * 50 > requests && died > 0 };
    assert!(is_enough, "too few functions were killed: {unanswered} of {requests}");
    assert!(unanswered * 4 < requests, "too many functions were killed: {unanswered} of {requests}");
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_of_twenty_customers_match_the_model() {
    twenty_customers(stack(), 15, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sequential_requests_of_twenty_customers_match_the_model() {
    twenty_customers(stack(), 15, 1).await;
}

/// The faults of AWS (docs/hostile.md). A late call could take effect after the comparison.
#[tokio::test(flavor = "multi_thread")]
async fn requests_under_the_faults_of_aws_match_the_model() {
    const RATES: &str = "error=0.02,lost-before=0.02,lost-after=0.02,late=0,stuck=0,throttle=0.02,conflict=0.02,\
        kill=0.01,freeze=0,stale=0.7,lag=0.7,twice=0.2,rewind=0.2";
    let rates = Rates::usual().with(RATES).expect("rates");
    for seed in 1..=3 {
        twenty_customers(stack().hostile(seed, rates), 6, 2).await;
    }
}

/// Returns the ids on all pages of a list at the time `now`.
async fn listed(
    stack: &Stack,
    account: &AccountId,
    status: Status,
    now: TimestampMillis,
    limit: usize,
) -> Vec<serde_json::Value> {
    let (client, mut items, mut cursor) = (Client::operator(stack), Vec::new(), None::<String>);
    for _ in 0..100 {
        let mut event = Operation::CheckOut { key: None }.event(account, now);
        event["routeKey"] = json!("GET /cart/accounts/{accountId}/items");
        event["requestContext"]["routeKey"] = event["routeKey"].clone();
        event["requestContext"]["http"]["method"] = json!("GET");
        event["queryStringParameters"] = json!({"status": status, "limit": limit.to_string()});
        event["rawQueryString"] = json!(format!("status={status}&limit={limit}"));
        if let Some(cursor) = &cursor {
            event["queryStringParameters"]["cursor"] = json!(cursor);
            event["rawQueryString"] = json!(format!("status={status}&limit={limit}&cursor={cursor}"));
        }
        let reply = Reply::read(&client.invoke("list-cart-items", &event).await.body);
        assert_eq!(reply.status, 200, "{}", reply.body);
        items.extend(reply.body["items"].as_array().expect("items").iter().cloned());
        cursor = reply.body["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(cursor, None, "the list of {account} does not end");
    items
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_items_match_the_model_after_each_request() {
    let mut rng = random();
    let stack = stocked(stack()).await;
    let proxy = Proxy::start(stack.dynamo_url()).await;
    let functions = functions();
    let mut customer = Customer::new(rng.usize(..20), &mut rng);
    let (mut now, client) = (start(), Client::operator(&stack));
    for _ in 0..80 {
        let operation = customer.operations(1).remove(0);
        let asked = ask(&stack, (&proxy, &functions), &customer.id, vec![(operation, now, Trouble::None)]).await;
        let stored = Stored::read(&stack).await;
        stored.check(now);
        customer.learn(&asked, &stored);
        now = later(now, pause(&mut rng));
        for status in STATUSES {
            let wanted = customer.account.listed(status, now);
            let wanted: Vec<_> =
                wanted.into_iter().map(|cart_item| json!(cart::CartItemBody::from(cart_item.clone()))).collect();
            let limit = rng.usize(1..=4);
            assert_eq!(listed(&stack, &customer.id, status, now, limit).await, wanted, "{status} after {asked:?}");
        }
        let items: Vec<_> = customer.account.cart_items.iter().map(|cart_item| cart_item.sort.item).collect();
        for item in items {
            let look = Operation::Look { item };
            let found = Reply::read(&client.invoke("get-cart-item", &look.event(&customer.id, now)).await.body);
            let wanted = customer.account.apply(&customer.id, &look, now, None);
            assert_eq!(found.status, wanted.status, "{item} after {asked:?}: {}", found.body);
            assert!(found.status == 404 || found == wanted, "{found:?} is not {wanted:?} after {asked:?}");
        }
    }
    stack.stop().await;
}
