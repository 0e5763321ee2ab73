//! Tests of the daily totals
//! ([requirement](../../../../docs/requirements/ledger.md#totals-and-trial-balance),
//! [decision](../../../../docs/decisions/ledger-totals.md)). Each transaction must be counted once.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use system_tests::{
    Answer, drained,
    faults::{Call, Fault, Process, Proxy},
    ledger::totals::{COUNT, Sums, TOTALS, insertions, insertions_at, stored_totals, totals, without_counting},
    ledger::{ACCOUNTS, Books, Item, MERCHANTS, TRANSACTIONS, audit::reconciled, id, legs, payment, stack},
    patterns::{cost_of, function_named},
    requests::{Case, all_are_refused},
    units::{Consumed, bytes, consumed, declared},
};
use table::Usage;

const MINUTE: Duration = Duration::from_mins(1);

/// A ledger with an account that pays, an account that receives, and a merchant.
struct Shop {
    books: Books,
    payer: String,
    account: String,
    merchant: String,
    /// The date of the transactions.
    day: String,
}

impl Shop {
    async fn of(books: Books) -> Self {
        let payer = books.source("USD").await;
        let account = books.account("shop").await;
        let merchant = books.operator.post(MERCHANTS, &json!({"name": "Shop", "category": "Shop"})).await;
        let merchant = id(&merchant, "merchantId");
        Self { books, payer, account, merchant, day: String::new() }
    }

    /// Starts a stack in which the test invokes the function.
    async fn by_hand() -> Self {
        Self::of(Books::of(without_counting().start().await.expect("a stack")).await).await
    }

    /// Posts payments to the merchant. All payments must be on one day.
    async fn pay(&mut self, keys: &[&str], amount: &str) {
        let mut body = payment(&self.payer, &self.account, amount);
        body["merchantId"] = self.merchant.as_str().into();
        for key in keys {
            let paid = self.books.operator.post_once(TRANSACTIONS, key, &body).await;
            assert_eq!(paid.status, 201, "{}", paid.body);
            self.day.replace_range(.., &paid.body["createdAt"].as_str().expect("a time")[..10]);
        }
    }

    async fn count(&self, event: &Value) -> Answer {
        let answer = self.books.operator.invoke(COUNT, event).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer
    }

    async fn totals(&self) -> BTreeMap<String, Sums> {
        totals(&self.books.stack).await
    }

    /// The totals after payments of these sums to the merchant.
    fn paid(&self, cents: i64, payments: i64) -> BTreeMap<String, Sums> {
        let scopes = ["ALL".to_owned(), format!("MERCHANT#{}", self.merchant)];
        let sides = [("external", (cents, 0, payments)), ("checking", (0, cents, payments))];
        let total =
            |scope: &String, (kind, sums): (&str, Sums)| (format!("{scope} {} payment {kind} USD", self.day), sums);
        scopes.iter().flat_map(|scope| sides.map(|side| total(scope, side))).collect()
    }
}

fn retried_from(answer: &Answer) -> Option<&str> {
    answer.body["batchItemFailures"][0]["itemIdentifier"].as_str()
}

#[tokio::test]
async fn the_stream_counts_every_transaction_once() {
    let mut shop = Shop::of(Books::of(stack().start().await.expect("a stack")).await).await;
    shop.pay(&["a", "b", "c"], "1.10").await;
    let euros = [shop.books.source("EUR").await, shop.books.source("EUR").await];
    let exchange = legs([
        ("debit", shop.payer.as_str(), "7.00", "USD"),
        ("credit", shop.account.as_str(), "4.00", "USD"),
        ("credit", shop.books.outside.as_str(), "3.00", "USD"),
        ("debit", euros[0].as_str(), "6.00", "EUR"),
        ("credit", euros[1].as_str(), "6.00", "EUR"),
    ]);
    let posted = shop.books.operator.post_once(TRANSACTIONS, "exchange", &exchange).await;
    assert_eq!(posted.status, 201, "{}", posted.body);
    drained(&shop.books.operator, COUNT).await;
    let mut wanted = shop.paid(330, 3);
    for (kind, currency, sums) in
        [("external", "USD", (700, 300, 1)), ("checking", "USD", (0, 400, 1)), ("external", "EUR", (600, 600, 1))]
    {
        wanted.insert(format!("ALL {} journal {kind} {currency}", shop.day), sums);
    }
    assert_eq!(shop.totals().await, wanted);
    shop.books.stack.stop().await;
}

#[tokio::test]
async fn repeated_and_reordered_records_are_counted_once() {
    let mut shop = Shop::by_hand().await;
    shop.pay(&["a", "b", "c", "d", "e"], "2.00").await;
    let headers = shop.books.headers().await;
    let backwards: Vec<&Item> = headers.iter().rev().chain(&headers).collect();
    for batch in [insertions(&headers[1..3]), insertions(&headers), insertions(backwards)] {
        let (one, other) = futures::join!(shop.count(&batch), shop.count(&batch));
        assert_eq!((retried_from(&one), retried_from(&other)), (None, None));
    }
    assert_eq!(shop.totals().await, shop.paid(1_000, 5));
    shop.books.stack.stop().await;
}

#[tokio::test]
async fn a_batch_of_any_transactions_fits_into_transactions_of_100_changes() {
    let shop = Shop::by_hand().await;
    let mut accounts = Vec::new();
    for number in 0..49 {
        let terms = json!({"userId": "bank", "accountType": format!("type {number}"), "currency": "USD", "allowNegative": true});
        accounts.push(id(&shop.books.operator.post(ACCOUNTS, &terms).await, "accountId"));
    }
    for key in ["a", "b", "c"] {
        let first = ("debit", accounts[0].as_str(), "48.00", "USD");
        let others = accounts[1..].iter().map(|account| ("credit", account.as_str(), "1.00", "USD"));
        let mut body = legs(std::iter::once(first).chain(others));
        body["merchantId"] = shop.merchant.as_str().into();
        let posted = shop.books.operator.post_once(TRANSACTIONS, key, &body).await;
        assert_eq!(posted.status, 201, "{}", posted.body);
    }
    assert_eq!(retried_from(&shop.count(&insertions(&shop.books.headers().await)).await), None);
    let totals = shop.totals().await;
    assert_eq!(totals.len(), 2 * 49);
    assert!(
        totals.values().all(|(debits, credits, count)| debits + credits == 300 || *debits == 14_400 && *count == 3)
    );
    shop.books.stack.stop().await;
}

#[tokio::test]
async fn an_outage_is_retried_from_the_first_uncounted_record() {
    let mut shop = Shop::by_hand().await;
    let proxy = Proxy::start(shop.books.stack.dynamo_url()).await;
    let keys: Vec<String> = (0..120).map(|number| format!("K-{number:03}")).collect();
    shop.pay(&keys.iter().map(String::as_str).collect::<Vec<_>>(), "1.00").await;
    let event = insertions(&shop.books.headers().await);
    let process = Process::start(&shop.books.stack, &proxy, COUNT, &function_named(COUNT));
    // 120 payments need two transactions. The second one never succeeds.
    let is_second = |call: &Call| call.action == "TransactWriteItems" && call.nth > 1;
    proxy.rule(move |call| if is_second(call) { Fault::internal() } else { Fault::None });
    let answer = process.run(&event, MINUTE).await.expect("no crash").answer.expect("an answer");
    assert!(answer["batchItemFailures"][0]["itemIdentifier"].is_string(), "{answer}");
    proxy.heal();
    let answer = process.run(&event, MINUTE).await.expect("no crash").answer.expect("an answer");
    assert_eq!(answer["batchItemFailures"], json!([]));
    assert_eq!(shop.totals().await, shop.paid(12_000, 120));
    shop.books.stack.stop().await;
}

#[tokio::test]
async fn an_unreadable_total_is_passed_over_in_favour_of_another_shard() {
    let mut shop = Shop::by_hand().await;
    shop.pay(&["a"], "1.00").await;
    let first = shop.books.headers().await;
    assert_eq!(retried_from(&shop.count(&insertions(&first)).await), None);
    let mut spoiled = stored_totals(&shop.books.stack).await;
    spoiled.retain(|item| item["Type"].as_s().is_ok_and(|kind| kind == "Total"));
    // The debits of one shard are not a number.
    let client = shop.books.stack.client().expect("a client");
    let put = client.put_item().table_name(shop.books.stack.table(TOTALS).expect("a table"));
    let mut item = spoiled[0].clone();
    item.insert("Debits".to_owned(), AttributeValue::S("nonsense".to_owned()));
    put.set_item(Some(item.clone())).send().await.expect("written");
    let keys: Vec<String> = (0..20).map(|number| format!("K-{number}")).collect();
    shop.pay(&keys.iter().map(String::as_str).collect::<Vec<_>>(), "1.00").await;
    for header in shop.books.headers().await {
        assert_eq!(retried_from(&shop.count(&insertions([&header])).await), None);
    }
    let markers = stored_totals(&shop.books.stack).await.into_iter().filter(|item| item["SK"] == text("METADATA"));
    assert_eq!(markers.count(), 21);
    let kept = stored_totals(&shop.books.stack).await;
    assert!(kept.contains(&item), "the unreadable item must not change");
    shop.books.stack.stop().await;
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// Without its marker, nobody knows whether an old transaction is already counted.
#[tokio::test]
async fn a_record_older_than_the_markers_is_reported_and_not_counted() {
    let mut shop = Shop::by_hand().await;
    shop.pay(&["a"], "1.00").await;
    let headers = shop.books.headers().await;
    let days = |days: i64| Timestamp::now() - SignedDuration::from_hours(24 * days);
    assert_eq!(retried_from(&shop.count(&insertions_at(&headers, days(98))).await), None);
    assert_eq!(shop.totals().await, BTreeMap::new());
    assert_eq!(retried_from(&shop.count(&insertions_at(&headers, days(96))).await), None);
    assert_eq!(shop.totals().await, shop.paid(100, 1));
    let marker = stored_totals(&shop.books.stack).await.into_iter().find(|item| item["SK"] == text("METADATA"));
    let expires: i64 = marker.expect("a marker")["ExpiresAt"].as_n().expect("a number").parse().expect("a number");
    assert!(expires > days(90 - 98).as_second() - 24 * 60 * 60, "{expires}");
    shop.books.stack.stop().await;
}

fn sum(usage: &Usage) -> Consumed {
    let mut sums = Consumed::new();
    for call in &usage.calls {
        let table = call.table.rsplit('-').next().unwrap_or(&call.table);
        let sum = sums.entry(table.to_owned()).or_default();
        *sum = (sum.0 + call.read, sum.1 + call.write);
    }
    sums
}

#[tokio::test]
async fn counting_consumes_its_declared_cost() {
    for (words, merchant) in [("checking", true), ("checking", false), (&*"\u{1f4b6}".repeat(128), true)] {
        let shop = Shop::by_hand().await;
        let terms =
            |kind: &str| json!({"userId": "bank", "accountType": kind, "currency": "USD", "allowNegative": true});
        let open = async |kind: &str| id(&shop.books.operator.post(ACCOUNTS, &terms(kind)).await, "accountId");
        let (from, to) = (open(words).await, open(words).await);
        let mut body = payment(&from, &to, "5.50");
        body["transactionType"] = if merchant { "x".repeat(128) } else { "payment".to_owned() }.into();
        if merchant {
            body["merchantId"] = shop.merchant.as_str().into();
        }
        let posted = shop.books.operator.post_once(TRANSACTIONS, "K", &body).await;
        assert_eq!(posted.status, 201, "{}", posted.body);
        let proxy = Proxy::start(shop.books.stack.dynamo_url()).await;
        let process = Process::start(&shop.books.stack, &proxy, COUNT, &function_named(COUNT));
        let run = process.run(&insertions(&shop.books.headers().await), MINUTE).await.expect("no crash");
        let account = shop.books.partition(None, &format!("ACCOUNT#{from}")).await;
        let totals = stored_totals(&shop.books.stack).await;
        let totals: Vec<usize> = totals.iter().filter(|item| item["SK"] != text("METADATA")).map(bytes).collect();
        let case = ledger::Case {
            account: bytes(&account[0]),
            total: totals.iter().copied().max().expect("a total"),
            totals: totals.len(),
            shards: 4,
            legs: 2,
            of_user: 0,
            transaction: 0,
            of_status: 0,
            leg: 0,
            inbox: 0,
            hold: 0,
            of_hold: 0,
            items: 0,
            merchant,
        };
        assert_eq!(sum(&run.usage), declared(&cost_of(&ledger::patterns(), COUNT, &case)), "{case:?}");
        shop.books.stack.stop().await;
    }
}

#[tokio::test]
async fn reading_totals_consumes_the_declared_cost() {
    let mut shop = Shop::by_hand().await;
    shop.pay(&["a"], "1.00").await;
    assert_eq!(retried_from(&shop.count(&insertions(&shop.books.headers().await)).await), None);
    let merchant = bytes(&shop.books.partition(None, &format!("MERCHANT#{}", shop.merchant)).await[0]);
    let totals = stored_totals(&shop.books.stack).await;
    let case = ledger::Case {
        account: merchant,
        total: totals.iter().map(bytes).max().expect("a total"),
        totals: 2,
        shards: 4,
        legs: 2,
        of_user: 0,
        transaction: 0,
        of_status: 0,
        leg: 0,
        inbox: 0,
        hold: 0,
        of_hold: 0,
        items: 0,
        merchant: true,
    };
    for (function, path) in [
        ("get-totals", format!("{MERCHANTS}/{}/totals", shop.merchant)),
        ("get-trial-balance", "/ledger/trial-balance".to_owned()),
    ] {
        let answer = shop.books.operator.get(&path).await;
        assert_eq!(answer.body["items"].as_array().map(Vec::len), Some(2), "{}", answer.body);
        assert_eq!(consumed(&answer), declared(&cost_of(&ledger::patterns(), function, &case)), "{function}");
    }
    shop.books.stack.stop().await;
}

/// A ledger with payments to a merchant on three days of 2020.
async fn of_2020(books: Books) -> Shop {
    let shop = Shop::of(books).await;
    let mut body = payment(&shop.payer, &shop.account, "10.00");
    for (day, merchant) in [("01", true), ("02", true), ("02", false), ("03", true)] {
        body["merchantId"] = if merchant { shop.merchant.as_str().into() } else { Value::Null };
        if !merchant {
            body.as_object_mut().expect("an object").remove("merchantId");
        }
        let at = shop.books.at(format!("2020-01-{day}T12:00:00Z").parse().expect("a time"));
        let paid = at.post_once(TRANSACTIONS, &format!("{day} {merchant}"), &body).await;
        assert_eq!(paid.status, 201, "{}", paid.body);
    }
    drained(&shop.books.operator, COUNT).await;
    Shop { day: "2020-01-02".to_owned(), ..shop }
}

#[tokio::test]
async fn the_totals_of_a_merchant_add_up_the_days_of_the_period() {
    let shop = of_2020(Books::open().await).await;
    let client = &shop.books.operator;
    let path = format!("{MERCHANTS}/{}/totals", shop.merchant);
    let total = |kind: &str, debits: &str, credits: &str, transactions: i64| {
        json!({
            "transactionType": "payment", "accountType": kind, "currency": "USD", "debits": debits, "credits": credits,
            "transactions": transactions,
        })
    };
    for (period, sum, transactions) in [
        (["2020-01-01", "2020-01-03"], "30.00", 3),
        (["2020-01-02", "2020-01-02"], "10.00", 1),
        (["2020-01-02", "2020-12-31"], "20.00", 2),
        (["2019-01-04", "2020-01-01"], "10.00", 1),
    ] {
        let [from, to] = period;
        let answer = client.get(&format!("{path}?from={from}&to={to}")).await;
        let items = [total("checking", "0.00", sum, transactions), total("external", sum, "0.00", transactions)];
        assert_eq!(answer.body, json!({"merchantId": shop.merchant, "from": from, "to": to, "items": items}));
    }
    let today = client.get(&path).await;
    assert_eq!((&today.body["items"], &today.body["from"]), (&json!([]), &today.body["to"]));
    let query = |query: &str, names: &str| Case::query(client, &path, query, names);
    let cases = vec![
        query("from=2020-01-02&to=2020-01-01", "to"),
        query("from=2020-01-01&to=2021-01-01", "from"),
        query("from=2020-01-02T00:00:00Z", "from"),
        query("from=2020-02-30&to=x", "from to"),
        Case::new("a missing merchant", client.request("GET", &format!("{MERCHANTS}/nobody/totals")), 404, "not-found"),
    ];
    all_are_refused(cases, &[TOTALS], async || shop.books.stored().await).await;
    shop.books.stack.stop().await;
}

#[tokio::test]
async fn the_trial_balance_has_the_sums_through_the_date() {
    let shop = of_2020(Books::open().await).await;
    let client = &shop.books.operator;
    let line = |kind: &str, debits: &str, credits: &str, balance: &str| json!({"accountType": kind, "currency": "USD", "debits": debits, "credits": credits, "balance": balance});
    for (date, sum) in [("2020-01-01", "10.00"), ("2020-01-02", "30.00"), ("2020-01-03", "40.00")] {
        let answer = client.get(&format!("/ledger/trial-balance?date={date}")).await;
        let items = [line("checking", "0.00", sum, sum), line("external", sum, "0.00", &format!("-{sum}"))];
        assert_eq!(answer.body, json!({"date": date, "items": items}));
    }
    let before = client.get("/ledger/trial-balance?date=2019-12-31").await;
    assert_eq!(before.body, json!({"date": "2019-12-31", "items": []}));
    let today = client.get("/ledger/trial-balance").await;
    assert_eq!(today.body["items"][0]["balance"], "40.00");
    assert_eq!(shop.books.balance(&shop.account).await, "40.00");
    let query = |query: &str| Case::query(client, "/ledger/trial-balance", query, "date");
    let cases = vec![query("date=2999-01-01"), query("date=2020-13-01"), query("date=2020-01-01T00:00:00Z")];
    all_are_refused(cases, &[TOTALS], async || shop.books.stored().await).await;
    shop.books.stack.stop().await;
}

impl Shop {
    /// Returns the stored total with this scope and account type on the day.
    async fn stored(&self, scope: &str, kind: &str) -> Item {
        let is_it = |item: &Item| {
            item["PK"].as_s().is_ok_and(|key| key.starts_with(scope))
                && item["SK"].as_s().is_ok_and(|key| key.starts_with(&format!("DAY#{}#", self.day)))
                && item["AccountType"] == text(kind)
        };
        stored_totals(&self.books.stack).await.into_iter().find(is_it).expect("a total")
    }

    async fn put(&self, item: &Item) {
        let put = self.books.stack.client().expect("a client").put_item();
        let put = put.table_name(self.books.stack.table(TOTALS).expect("a table")).set_item(Some(item.clone()));
        put.send().await.expect("written");
    }

    async fn delete(&self, item: &Item) {
        let delete = self.books.stack.client().expect("a client").delete_item();
        let delete = delete.table_name(self.books.stack.table(TOTALS).expect("a table"));
        let delete = delete.key("PK", item["PK"].clone()).key("SK", item["SK"].clone());
        delete.send().await.expect("deleted");
    }

    /// The discrepancies of the first three days of 2020.
    async fn discrepancies(&self) -> Value {
        let window = ["2020-01-01T00:00:00Z", "2020-01-03T23:59:59.999Z"];
        reconciled(&self.books.operator, window[0], window[1]).await["discrepancies"].take()
    }
}

#[tokio::test]
async fn a_reconciliation_reports_a_wrong_total_and_nothing_else() {
    let shop = of_2020(Books::open().await).await;
    assert_eq!(shop.discrepancies().await, json!([]));
    let merchants = format!("MERCHANT#{}", shop.merchant);
    for (scope, kind, attribute, value) in [
        ("ALL", "external", "Debits", "99.99"),
        ("ALL", "checking", "Debits", "0.01"),
        (merchants.as_str(), "checking", "Credits", "9.99"),
        (merchants.as_str(), "external", "Transactions", "7"),
    ] {
        let item = shop.stored(scope, kind).await;
        let mut wrong = item.clone();
        wrong.insert(attribute.to_owned(), AttributeValue::N(value.to_owned()));
        shop.put(&wrong).await;
        let found = shop.discrepancies().await;
        let found = found.as_array().expect("a list");
        assert_eq!(found.len(), 1, "{found:?}");
        let mut total = json!({
            "date": "2020-01-02", "transactionType": "payment", "accountType": kind, "currency": "USD",
            "sum": attribute.to_lowercase(),
        });
        if scope != "ALL" {
            total["merchantId"] = shop.merchant.as_str().into();
        }
        assert_eq!((&found[0]["kind"], &found[0]["total"]), (&json!("wrong-total"), &total));
        assert_ne!(found[0]["expected"], found[0]["actual"]);
        shop.put(&item).await;
    }
    for scope in ["ALL", merchants.as_str()] {
        let item = shop.stored(scope, "checking").await;
        shop.delete(&item).await;
        let found = shop.discrepancies().await;
        assert_eq!((found[0]["kind"].as_str(), found[1].as_str()), (Some("wrong-total"), None), "{found}");
        shop.put(&item).await;
    }
    let mut added = shop.stored("ALL", "checking").await;
    added.insert("AccountType".to_owned(), text("savings"));
    added.insert("SK".to_owned(), text("DAY#2020-01-02#x"));
    shop.put(&added).await;
    let found = shop.discrepancies().await;
    assert_eq!((&found[0]["total"]["accountType"], found.as_array().map(Vec::len)), (&json!("savings"), Some(1)));
    shop.delete(&added).await;
    assert_eq!(shop.discrepancies().await, json!([]));
    shop.books.stack.stop().await;
}

/// The header of a counted transaction is gone: its legs are orphans, and the totals still have it.
#[tokio::test]
async fn a_wrong_total_that_another_finding_explains_is_not_reported() {
    let shop = of_2020(Books::open().await).await;
    let header = shop
        .books
        .headers()
        .await
        .into_iter()
        .find(|header| header["CreatedAt"].as_s().is_ok_and(|time| time.starts_with(&shop.day)));
    let header = header.expect("a transaction");
    let delete = shop.books.stack.client().expect("a client").delete_item().table_name(shop.books.table());
    delete.key("PK", header["PK"].clone()).key("SK", header["SK"].clone()).send().await.expect("deleted");
    let found = shop.discrepancies().await;
    let kinds: Vec<&str> = found.as_array().expect("a list").iter().filter_map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, ["orphan-leg"; 2], "{found}");
    shop.books.stack.stop().await;
}

#[tokio::test]
async fn an_unreadable_total_is_skipped_and_reported() {
    let shop = of_2020(Books::open().await).await;
    let client = &shop.books.operator;
    let merchants = format!("MERCHANT#{}", shop.merchant);
    for (scope, path) in [
        ("ALL", "/ledger/trial-balance?date=2020-01-02".to_owned()),
        (merchants.as_str(), format!("{MERCHANTS}/{}/totals?from=2020-01-01&to=2020-01-02", shop.merchant)),
    ] {
        for (attribute, value) in [("Debits", text("nonsense")), ("Debits", AttributeValue::N("0.001".to_owned()))] {
            let item = shop.stored(scope, "external").await;
            let mut bad = item.clone();
            bad.insert(attribute.to_owned(), value);
            shop.put(&bad).await;
            let answer = client.get(&path).await;
            assert_eq!((answer.status, &answer.body["skipped"]), (200, &json!(1)), "{}", answer.body);
            assert!(answer.body["items"].as_array().is_some_and(|items| !items.is_empty()), "{}", answer.body);
            let found = shop.discrepancies().await;
            assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
            assert_eq!(
                (&found[0]["kind"], &found[0]["key"]["PK"].as_str()),
                (&json!("unreadable-item"), &item["PK"].as_s().ok().map(String::as_str))
            );
            shop.put(&item).await;
        }
    }
    shop.books.stack.stop().await;
}

/// One line that is too large hides neither the other currencies nor the other account types.
#[tokio::test]
async fn a_sum_of_more_than_38_digits_is_left_out_and_counted() {
    // With one shard, the stored total is full. With four, each of them has room for one payment.
    for shards in ["1", "4"] {
        let stack = without_counting().parameter("TotalsWriteShards", shards).parameter("TotalsReadShards", shards);
        let mut shop = Shop::of(Books::of(stack.start().await.expect("a stack")).await).await;
        shop.pay(&["a"], "2.00").await;
        let yen = [shop.books.source("JPY").await, shop.books.source("JPY").await];
        for number in 0..12 {
            let mut body = payment(&yen[number % 2], &yen[1 - number % 2], &"9".repeat(38));
            (body["currency"], body["merchantId"]) = ("JPY".into(), shop.merchant.as_str().into());
            let paid = shop.books.operator.post_once(TRANSACTIONS, &format!("yen-{number}"), &body).await;
            assert_eq!(paid.status, 201, "{}", paid.body);
        }
        let records = insertions(&shop.books.headers().await);
        for _ in 0..2 {
            assert_eq!(retried_from(&shop.count(&records).await), None);
        }
        for path in ["/ledger/trial-balance".to_owned(), format!("{MERCHANTS}/{}/totals", shop.merchant)] {
            let answer = shop.books.operator.get(&path).await;
            assert_eq!((answer.status, &answer.body["skipped"]), (200, &json!(1)), "{}", answer.body);
            let items = answer.body["items"].as_array().expect("a list");
            let of = |item: &Value| [&item["accountType"], &item["currency"], &item["debits"]].map(Value::to_string);
            let lines: Vec<_> = items.iter().map(of).collect();
            assert_eq!(
                lines,
                [["checking", "USD", "0.00"], ["external", "USD", "2.00"]].map(|of| of.map(|text| format!("{text:?}")))
            );
        }
        shop.books.stack.stop().await;
    }
}

/// A payment that fits into no shard leaves its line out, even if the stored sums alone would fit.
#[tokio::test]
async fn a_total_that_lacks_a_transaction_is_left_out_and_reported() {
    let stack = without_counting().parameter("TotalsWriteShards", "1").parameter("TotalsReadShards", "1");
    let shop = Shop::of(Books::of(stack.start().await.expect("a stack")).await).await;
    let yen = [shop.books.source("JPY").await, shop.books.source("JPY").await];
    for (key, from, amount) in [("less", 0, "2"), ("more", 1, "9")] {
        let mut body = payment(&yen[from], &yen[1 - from], &amount.repeat(38));
        body["currency"] = "JPY".into();
        let at = shop.books.at("2020-01-02T12:00:00Z".parse().expect("a time"));
        assert_eq!(at.post_once(TRANSACTIONS, key, &body).await.status, 201);
    }
    let records = insertions(&shop.books.headers().await);
    assert_eq!(retried_from(&shop.count(&records).await), None);
    let balance = shop.books.operator.get("/ledger/trial-balance?date=2020-01-02").await;
    assert_eq!(balance.body, json!({"date": "2020-01-02", "items": [], "skipped": 1}));
    let found = shop.discrepancies().await;
    assert_eq!(found[0]["kind"], "unreadable-item", "{found}");
    shop.books.stack.stop().await;
}
