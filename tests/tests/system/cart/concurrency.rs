//! Concurrent requests to one cart: no change is lost or applied twice, and no cart item is stored
//! under two keys.

use cart::CartItem;
use futures::future::{join, join_all};
use keys::{AccountId, TimestampMillis, cart::Status};
use local::Stack;
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use system_tests::{
    cart::{
        MAX_ITEMS,
        model::{Asked, Operation, Reply, Shopper, Stored},
        stocked, twins,
    },
    faults::{Call, Fault, Twins},
    stack,
};

const TIME: Duration = Duration::from_mins(5);

fn now() -> TimestampMillis {
    "2099-12-01T12:00:00.123Z".parse().expect("a time")
}

fn account(name: &str) -> AccountId {
    name.parse().expect("an account")
}

/// Sends all requests concurrently to one function. The timeout is longer than the function's own,
/// so that the test does not fail on a slow machine. Returns the results in the order of the
/// requests.
async fn at_once(twins: &Twins, operations: impl IntoIterator<Item = Operation>) -> Vec<Asked> {
    let (operations, account): (Vec<_>, _) = (operations.into_iter().collect(), account("A"));
    let name = operations[0].function();
    let process = twins.process(name, &system_tests::patterns::function_named(name));
    let asked = operations.into_iter().map(async |operation| {
        let invocation = process.run(&operation.event(&account, now()), TIME).await.expect("the function is alive");
        let reply = Reply::read(&invocation.answer.expect("an answer")).heard();
        (invocation.usage.retries, Asked { operation, now: now(), reply })
    });
    let (retries, asked): (Vec<u64>, Vec<Asked>) = join_all(asked).await.into_iter().unzip();
    let (most, sum) = (retries.iter().max().copied().unwrap_or_default(), retries.iter().sum::<u64>());
    println!("{} concurrent {name}: {sum} retries, at most {most} of one request", asked.len());
    asked
}

/// Returns the number of responses by status and problem type.
fn kinds(asked: &[Asked]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for asked in asked {
        *kinds.entry(asked.reply.as_ref().map_or("retry".to_owned(), Reply::kind)).or_default() += 1;
    }
    kinds
}

fn expected<const N: usize>(kinds: [(&str, usize); N]) -> BTreeMap<String, usize> {
    kinds.map(|(kind, count)| (kind.to_owned(), count)).into()
}

/// Reads the table and checks its invariants.
async fn stored(stack: &Stack) -> Stored {
    let stored = Stored::read(stack).await;
    stored.check(now());
    stored
}

fn in_status(stored: &Stored, status: Status) -> Vec<&CartItem> {
    stored.cart_items.iter().filter(|cart_item| cart_item.sort.status == status).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_additions_of_a_product_make_one_item() {
    for keyed in [false, true] {
        let twins = twins().await;
        let adds = (1..=50).map(|quantity| {
            let add = Operation::add(1, quantity);
            if keyed { add.under(&format!("K-{quantity}")) } else { add }
        });
        let asked = at_once(&twins, adds).await;
        assert_eq!(kinds(&asked), expected([("200", 49), ("201", 1)]), "keyed: {keyed}");
        let stored = stored(&twins.healthy).await;
        let cart_item = &stored.cart_items[0];
        assert_eq!(
            (stored.cart_items.len(), u32::from(cart_item.quantity), cart_item.version),
            (1, 50 * 51 / 2, 50),
            "{cart_item:?}"
        );
        if keyed {
            let again = at_once(&twins, asked.iter().map(|asked| asked.operation.clone())).await;
            let same = asked.iter().zip(&again).all(|(first, again)| first.reply == again.reply);
            assert!(same, "{asked:#?}, repeated: {again:#?}");
            assert_eq!(Stored::read(&twins.healthy).await.cart_items, stored.cart_items, "repeated keys add nothing");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_requests_with_one_key_add_once() {
    for quantity in [7, 9_000] {
        let twins = twins().await;
        let asked = at_once(&twins, (0..50).map(|_| Operation::add(1, quantity).under("K"))).await;
        assert_eq!(kinds(&asked), expected([("201", 50)]));
        assert!(asked.iter().all(|one| one.reply == asked[0].reply), "{asked:#?}");
        let stored = stored(&twins.healthy).await;
        let quantities: Vec<u32> = stored.cart_items.iter().map(|cart_item| cart_item.quantity.into()).collect();
        assert_eq!(quantities, [quantity]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cart_accepts_200_of_210_concurrent_products() {
    let twins = twins().await;
    let asked = at_once(&twins, (0..210).map(|sku| Operation::add(sku, 1))).await;
    assert_eq!(kinds(&asked), expected([("201", MAX_ITEMS), ("409 cart-full", 10)]));
    let stored = stored(&twins.healthy).await;
    assert_eq!(in_status(&stored, Status::Active).len(), MAX_ITEMS);
    let bought = at_once(&twins, [Operation::check_out().under("K")]).await;
    let items = bought[0].reply.as_ref().map(|reply| reply.body["items"].as_array().map_or(0, Vec::len));
    assert_eq!(items, Some(MAX_ITEMS), "a full cart is bought");
}

/// Additions of different products depend on nothing but the contents of the cart, so each needs
/// one transaction. Only the first addition conflicts with all others, because it creates the
/// contents.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_additions_need_at_most_two_tries_on_average() {
    for (there, most) in [(0, 100), (1, 50)] {
        let twins = twins().await;
        if there > 0 {
            at_once(&twins, [Operation::add(0, 1)]).await;
        }
        let before = twins.proxy.count("TransactWriteItems");
        let asked = at_once(&twins, (1..=50).map(|sku| Operation::add(sku, 1))).await;
        assert_eq!(kinds(&asked), expected([("201", 50)]));
        let tries = twins.proxy.count("TransactWriteItems") - before;
        println!("{there} items before: {tries} transactions for 50 additions");
        assert!(tries <= most, "{tries} transactions");
        stored(&twins.healthy).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_ten_concurrent_checkouts_buys_the_cart() {
    for (checkout, kinds_of) in [
        (Operation::check_out(), expected([("200", 1), ("409 cart-empty", 9)])),
        (Operation::check_out().under("K"), expected([("200", 10)])),
    ] {
        let twins = twins().await;
        at_once(&twins, (0..7).map(|sku| Operation::add(sku, 2))).await;
        let asked = at_once(&twins, (0..10).map(|_| checkout.clone())).await;
        assert_eq!(kinds(&asked), kinds_of, "{checkout:?}");
        let orders: Vec<&Value> = asked
            .iter()
            .filter_map(|asked| Some(&asked.reply.as_ref()?.body))
            .filter(|body| body["items"].is_array())
            .collect();
        assert!(orders.iter().all(|order| *order == orders[0]), "{orders:#?}");
        assert_eq!(orders[0]["items"].as_array().map(Vec::len), Some(7));
        let stored = stored(&twins.healthy).await;
        let bought = in_status(&stored, Status::Purchased);
        let of_order = bought
            .iter()
            .filter(|cart_item| orders[0]["orderId"] == *cart_item.order_id.as_ref().map_or("", |id| id.as_str()));
        assert_eq!((of_order.count(), stored.cart_items.len()), (7, 7));
    }
}

/// Sends the same request twice. One of them is held at its last read until the other has
/// completed. Returns the held request second.
async fn overtaken(twins: &Twins, account: &AccountId, operation: &Operation) -> (Asked, Asked) {
    // The record is read first. Then the contents of the cart are read.
    let is_contents = |call: &Call| call.action == "GetItem" && call.body["Key"]["SK"]["S"] == "CART";
    twins.proxy.rule(move |call| if is_contents(call) && call.nth <= 4 { Fault::Held } else { Fault::None });
    let first = async {
        twins.proxy.held(1).await;
        let first = operation.clone().ask(&twins.healthy, account, now()).await;
        twins.proxy.release();
        first
    };
    join(first, operation.clone().ask(&twins.faulty, account, now())).await
}

/// The second request reads the idempotency record before the first request completes. It reads the
/// cart after the first request completes.
#[tokio::test]
async fn repeated_request_is_not_rejected_because_of_the_first() {
    let full: Vec<_> = (0..MAX_ITEMS - 1).map(|sku| Operation::add(sku, 1)).collect();
    for (before, operation, status) in [
        (full, Operation::add(220, 1).under("K"), "201"),
        (vec![Operation::add(1, 1)], Operation::add(1, 6_000).under("K"), "200"),
        (vec![Operation::add(1, 1)], Operation::check_out().under("K"), "200"),
    ] {
        let twins = twins().await;
        let account = account("A");
        at_once(&twins, before).await;
        let (first, second) = overtaken(&twins, &account, &operation).await;
        assert_eq!(second.reply, first.reply, "{operation:?}");
        assert_eq!(kinds(&[first]), expected([(status, 1)]), "{operation:?}");
        stored(&twins.healthy).await;
    }
}

/// The second request finds its own item in the cart, because the first request activated the item.
#[tokio::test]
async fn repeated_activation_does_not_conflict_with_itself() {
    let (twins, account) = (twins().await, account("A"));
    at_once(&twins, [Operation::add(1, 6_000)]).await;
    let item = stored(&twins.healthy).await.cart_items[0].id();
    at_once(&twins, [Operation::bring(item, Status::Saved)]).await;
    let (first, second) = overtaken(&twins, &account, &Operation::bring(item, Status::Active)).await;
    assert_eq!(second.reply, first.reply);
    assert_eq!(kinds(&[first]), expected([("200", 1)]));
}

/// Runs the same concurrent requests in six carts at the same time, to get different interleavings.
async fn race(run: impl AsyncFn(&mut Shopper<'_>)) {
    let stack = stocked(stack()).await;
    join_all((0..6).map(async |number| {
        let mut race = Shopper::new(&stack, account(&format!("A-{number}")), now());
        run(&mut race).await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn items_that_change_during_a_checkout_are_stored_once() {
    race(async |race| {
        race.run((0..5).map(|sku| Operation::add(sku, 3)).collect()).await;
        let items = race.items();
        race.run(vec![
            Operation::check_out(),
            Operation::add(0, 4),
            Operation::add(9, 1).under("K"),
            Operation::Remove { item: items[1] },
            Operation::count(items[2], 8),
            Operation::bring(items[3], Status::Saved),
        ])
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_checkouts_buy_each_item_once() {
    race(async |race| {
        race.run((0..3).map(|sku| Operation::add(sku, 3)).collect()).await;
        let checkout = |key: &str| Operation::check_out().under(key);
        race.run(vec![checkout("K-1"), Operation::add(1, 4), checkout("K-2"), Operation::add(7, 1), checkout("K-1")])
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_activations_of_one_product_merge_into_one_item() {
    race(async |race| {
        for quantity in [3, 4] {
            race.run(vec![Operation::add(1, quantity)]).await;
            let item = race.account().listed(Status::Active, now())[0].id();
            race.run(vec![Operation::bring(item, Status::Saved)]).await;
        }
        let items = race.items();
        let asked = race.run(items.iter().map(|item| Operation::bring(*item, Status::Active)).collect()).await;
        assert_eq!(kinds(&asked), expected([("200", 2)]));
        let active = race.account().listed(Status::Active, now());
        assert_eq!((active.len(), u32::from(active[0].quantity)), (1, 7), "{:#?}", race.account());
        // If either request is repeated, it returns the item with the total quantity.
        let again = race.run(items.iter().map(|item| Operation::bring(*item, Status::Active)).collect()).await;
        assert!(again.iter().all(|asked| asked.reply == again[0].reply), "{again:#?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_status_changes_and_removals_are_serialised() {
    race(async |race| {
        race.run((0..4).map(|sku| Operation::add(sku, 2)).collect()).await;
        let items = race.items();
        race.run(vec![Operation::bring(items[3], Status::Saved)]).await;
        race.run(vec![Operation::bring(items[0], Status::Saved), Operation::Remove { item: items[0] }]).await;
        race.run(vec![
            Operation::bring(items[1], Status::Saved),
            Operation::Remove { item: items[1] },
            Operation::count(items[1], 9),
        ])
        .await;
        race.run(vec![
            Operation::bring(items[3], Status::Active),
            Operation::Remove { item: items[3] },
            Operation::add(3, 1),
        ])
        .await;
        race.run(vec![
            Operation::bring(items[2], Status::Saved),
            Operation::check_out(),
            Operation::bring(items[2], Status::Active),
        ])
        .await;
    })
    .await;
}

/// An item is added after the checkout has read the cart, and before the checkout writes. The
/// checkout must include this item.
#[tokio::test]
async fn checkout_includes_an_item_that_was_added_concurrently() {
    let (twins, account) = (twins().await, account("A"));
    at_once(&twins, (0..3).map(|sku| Operation::add(sku, 1))).await;
    twins.proxy.rule(|call| match (call.action.as_str(), call.nth) {
        ("TransactWriteItems", 1) => Fault::Held,
        _ => Fault::None,
    });
    let added = async {
        twins.proxy.held(1).await;
        let added = Operation::add(9, 1).ask(&twins.healthy, &account, now()).await;
        twins.proxy.release();
        added
    };
    let (bought, added) = join(Operation::check_out().ask(&twins.faulty, &account, now()), added).await;
    assert_eq!(kinds(&[added]), expected([("201", 1)]));
    let items = bought.reply.map(|reply| reply.body["items"].as_array().map_or(0, Vec::len));
    assert_eq!((items, in_status(&stored(&twins.healthy).await, Status::Purchased).len()), (Some(4), 4));
}
