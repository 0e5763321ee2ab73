//! Tests of the daily totals
//! ([requirement](../../../../docs/requirements/ledger.md#totals-and-trial-balance),
//! [decision](../../../../docs/decisions/ledger-reconciliation.md)). The simulation repeats and
//! delays stream records.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use system_tests::{
    Answer, assert_problem, drained,
    events::event,
    faults::{Process, Proxy},
    ledger::totals::{COUNT, Sums, TOTALS, insertions, insertions_at, stored_totals, totals, without_counting},
    ledger::{
        ACCOUNTS, Books, Item, MERCHANTS, NOTHING, TRANSACTIONS,
        audit::{Rows, header_key, reconciled},
        id, legs, payment, stack, used,
    },
    patterns::{cost_of, function_named},
    text,
    units::{bytes, consumed, declared},
    world::{NOW, send, settle, world},
};

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

    /// Opens 49 accounts of these types. Returns a transaction that debits the first of them.
    async fn wide(&self, kind: impl Fn(usize) -> String) -> Value {
        let mut accounts = Vec::new();
        for number in 0..49 {
            // A user may open a limited number of accounts.
            let terms = json!({"userId": format!("user-{number}"), "accountType": kind(number), "currency": "USD", "allowNegative": true});
            accounts.push(id(&self.books.operator.post(ACCOUNTS, &terms).await, "accountId"));
        }
        let first = ("debit", accounts[0].as_str(), "48.00", "USD");
        let others = accounts[1..].iter().map(|account| ("credit", account.as_str(), "1.00", "USD"));
        legs(std::iter::once(first).chain(others))
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
async fn a_batch_of_any_transactions_fits_into_transactions_of_100_changes() {
    let shop = Shop::by_hand().await;
    let mut body = shop.wide(|number| format!("type {number}")).await;
    for key in ["a", "b", "c"] {
        body["merchantId"] = shop.merchant.as_str().into();
        let posted = shop.books.operator.post_once(TRANSACTIONS, key, &body).await;
        assert_eq!(posted.status, 201, "{}", posted.body);
    }
    shop.count_all().await;
    let totals = shop.totals().await;
    assert_eq!(totals.len(), 2 * 49);
    assert!(
        totals.values().all(|(debits, credits, count)| debits + credits == 300 || *debits == 14_400 && *count == 3)
    );
    shop.books.stack.stop().await;
}

/// The debits of one shard are not a number. Other shards count the transactions.
#[tokio::test]
async fn an_unreadable_total_is_passed_over_in_favour_of_another_shard() {
    let mut shop = Shop::by_hand().await;
    shop.pay(&["a"], "1.00").await;
    shop.count_all().await;
    let spoiled = shop.total("ALL", "checking").await;
    shop.rows().set(&key_of(&spoiled), json!({"Debits": {"S": "nonsense"}})).await;
    let keys: Vec<String> = (0..20).map(|number| format!("K-{number}")).collect();
    shop.pay(&keys.iter().map(String::as_str).collect::<Vec<_>>(), "1.00").await;
    for header in shop.books.headers().await {
        assert_eq!(retried_from(&shop.count(&insertions([&header])).await), None);
    }
    let stored = stored_totals(&shop.books.stack).await;
    assert_eq!(stored.iter().filter(|item| is_marker(item)).count(), 21);
    let kept = stored.iter().find(|item| item["PK"] == spoiled["PK"] && item["SK"] == spoiled["SK"]);
    assert_eq!(kept.expect("a total")["Credits"], spoiled["Credits"], "the unreadable item must not change");
    shop.books.stack.stop().await;
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
    let marker = stored_totals(&shop.books.stack).await.into_iter().find(is_marker);
    let expires: i64 = marker.expect("a marker")["ExpiresAt"].as_n().expect("a number").parse().expect("a number");
    assert!(expires > days(90 - 98).as_second() - 24 * 60 * 60, "{expires}");
    shop.books.stack.stop().await;
}

#[tokio::test]
async fn counting_and_reading_totals_consume_the_declared_cost() {
    for (words, merchant) in [("checking", false), (&*"\u{1f4b6}".repeat(128), true)] {
        let shop = Shop::by_hand().await;
        let terms = json!({"userId": "bank", "accountType": words, "currency": "USD", "allowNegative": true});
        let open = async || id(&shop.books.operator.post(ACCOUNTS, &terms).await, "accountId");
        let (from, to) = (open().await, open().await);
        let mut body = payment(&from, &to, "5.50");
        if merchant {
            body["transactionType"] = "x".repeat(128).into();
            body["merchantId"] = shop.merchant.as_str().into();
        }
        assert_eq!(shop.books.operator.post_once(TRANSACTIONS, "K", &body).await.status, 201);
        let proxy = Proxy::start(shop.books.stack.dynamo_url()).await;
        let process = Process::start(&shop.books.stack, &proxy, COUNT, &function_named(COUNT));
        let run = process.run(&insertions(&shop.books.headers().await), MINUTE).await.expect("no crash");
        let account = shop.books.partition(None, &format!("ACCOUNT#{from}")).await;
        let totals: Vec<Item> = stored_totals(&shop.books.stack).await;
        let totals: Vec<usize> = totals.iter().filter(|item| !is_marker(item)).map(bytes).collect();
        let total = totals.iter().copied().max().expect("a total");
        let (account, shards) = (bytes(&account[0]), 4);
        let case = ledger::Case { account, total, totals: totals.len(), shards, legs: 2, merchant, ..NOTHING };
        assert_eq!(used(&run.usage), declared(&cost_of(&ledger::patterns(), COUNT, &case)), "{case:?}");
        let account = bytes(&shop.books.partition(None, &format!("MERCHANT#{}", shop.merchant)).await[0]);
        let case = ledger::Case { account, total, totals: 1, shards, legs: 2, merchant: true, ..NOTHING };
        for (function, path) in [
            ("get-totals", format!("{MERCHANTS}/{}/totals", shop.merchant)),
            ("get-trial-balance", "/ledger/trial-balance".to_owned()),
        ] {
            let answer = shop.books.operator.get(&path).await;
            if merchant || function == "get-trial-balance" {
                assert_eq!(answer.body["items"].as_array().map(Vec::len), Some(1), "{}", answer.body);
                let cost = cost_of(&ledger::patterns(), function, &case);
                assert_eq!(consumed(&answer), declared(&cost), "{function}");
            }
        }
        shop.books.stack.stop().await;
    }
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
    for (from, to, sum, transactions) in [
        ("2020-01-01", "2020-01-03", "30.00", 3),
        ("2020-01-02", "2020-01-02", "10.00", 1),
        ("2020-01-02", "2020-12-31", "20.00", 2),
        ("2019-01-04", "2020-01-01", "10.00", 1),
    ] {
        let answer = client.get(&format!("{path}?from={from}&to={to}")).await;
        let items = [total("checking", "0.00", sum, transactions), total("external", sum, "0.00", transactions)];
        assert_eq!(answer.body, json!({"merchantId": shop.merchant, "from": from, "to": to, "items": items}));
    }
    let today = client.get(&path).await;
    assert_eq!((&today.body["items"], &today.body["from"]), (&json!([]), &today.body["to"]));
    for (query, name) in [("from=2020-01-02&to=2020-01-01", "to"), ("from=2020-01-01&to=2021-01-01", "from")] {
        let refused = client.get(&format!("{path}?{query}")).await;
        assert_problem(&refused, 400, "invalid-request");
        assert_eq!(refused.body["errors"][0]["pointer"], format!("/query/{name}"), "{query}");
    }
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
    assert_eq!(client.get("/ledger/trial-balance").await.body["items"][0]["balance"], "40.00");
    let future = client.get("/ledger/trial-balance?date=2999-01-01").await;
    assert_problem(&future, 400, "invalid-request");
    shop.books.stack.stop().await;
}

impl Shop {
    fn rows(&self) -> Rows {
        Rows::in_table(&self.books.stack, TOTALS)
    }

    /// Counts all transactions.
    async fn count_all(&self) {
        assert_eq!(retried_from(&self.count(&insertions(&self.books.headers().await)).await), None);
    }

    /// Returns the stored total with this scope and account type on the day.
    async fn total(&self, scope: &str, kind: &str) -> Item {
        let is_it = |item: &Item| {
            item["PK"].as_s().is_ok_and(|key| key.starts_with(scope))
                && item["SK"].as_s().is_ok_and(|key| key.starts_with(&format!("DAY#{}#", self.day)))
                && item["AccountType"] == AttributeValue::S(kind.to_owned())
        };
        stored_totals(&self.books.stack).await.into_iter().find(is_it).expect("a total")
    }

    /// The discrepancies of the first three days of 2020.
    async fn discrepancies(&self) -> Vec<Value> {
        let window = ["2020-01-01T00:00:00Z", "2020-01-03T23:59:59.999Z"];
        let found = reconciled(&self.books.operator, window[0], window[1]).await;
        found["discrepancies"].as_array().expect("a list").clone()
    }
}

/// Returns the key of an item.
fn key_of(item: &Item) -> Value {
    let key = |name: &str| item[name].as_s().expect("a key");
    json!({"PK": {"S": key("PK")}, "SK": {"S": key("SK")}})
}

fn is_marker(item: &Item) -> bool {
    item["SK"].as_s().is_ok_and(|sort| sort == "METADATA")
}

#[tokio::test]
async fn a_reconciliation_reports_each_wrong_total_and_nothing_else() {
    let shop = of_2020(Books::open().await).await;
    assert_eq!(shop.discrepancies().await, Vec::<Value>::new());
    let (merchants, rows) = (format!("MERCHANT#{}", shop.merchant), shop.rows());
    let mut wanted = Vec::new();
    for (scope, kind, attribute, value) in [
        ("ALL", "external", "Debits", "99.99"),
        ("ALL", "checking", "Debits", "0.01"),
        (merchants.as_str(), "checking", "Credits", "9.99"),
        (merchants.as_str(), "external", "Transactions", "7"),
    ] {
        rows.set(&key_of(&shop.total(scope, kind).await), json!({attribute: {"N": value}})).await;
        wanted.push(format!("{scope} {kind} {}", attribute.to_lowercase()).replace("ALL", ""));
    }
    let mut added = rows.get(&key_of(&shop.total("ALL", "checking").await)).await;
    (added["AccountType"], added["SK"]) = (json!({"S": "savings"}), json!({"S": "DAY#2020-01-02#x"}));
    rows.put(&[added.to_string()]).await;
    let mut found: Vec<String> = Vec::new();
    for one in shop.discrepancies().await {
        let total = &one["total"];
        assert_eq!((&one["kind"], &total["date"]), (&json!("wrong-total"), &json!("2020-01-02")), "{one}");
        assert_ne!(one["expected"], one["actual"], "{one}");
        let merchant = total["merchantId"].as_str().map(|id| format!("MERCHANT#{id}")).unwrap_or_default();
        let [kind, sum] = ["accountType", "sum"].map(|name| text(total, name));
        found.push(format!("{merchant} {kind} {sum}"));
    }
    let all = found.len();
    found.retain(|one| !one.starts_with(" savings "));
    assert_eq!(all - found.len(), 1, "{found:?}");
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    rows.delete(&json!({"PK": added["PK"], "SK": added["SK"]})).await;
    shop.books.stack.stop().await;
}

/// A total that lacks a transaction is read again for some seconds, because its stream record may
/// be late.
#[tokio::test(start_paused = true)]
async fn a_total_that_is_gone_is_reported_after_a_while() {
    let stack = world(NOW).await;
    let table = "local-Totals";
    let totals = stack.items(table).expect("items");
    let total =
        totals.iter().find(|item| item["SK"]["S"].as_str().is_some_and(|sort| sort.starts_with("DAY#2025-11-12")));
    let total = total.expect("a total");
    let delete = json!({"TableName": table, "Key": {"PK": total["PK"], "SK": total["SK"]}});
    stack.dynamodb("DeleteItem", &delete).expect("deleted");
    let findings = || {
        let items = stack.items("local-LedgerJobs").expect("items").into_iter();
        items.filter(|item| item["Type"]["S"] == "Finding").collect::<Vec<_>>()
    };
    assert_eq!(findings(), Vec::<Value>::new());
    let mut asked = event("start-reconciliation", "");
    asked["headers"]["idempotency-key"] = "another".into();
    assert_eq!(send(&stack, &asked).await.status, 202);
    settle(&stack).await;
    let found = findings();
    assert!(!found.is_empty() && found.iter().all(|one| one.to_string().contains("wrong-total")), "{found:?}");
}

/// A job item has at most 400 KB, so a reconciliation checks the totals of such a day in passes.
#[tokio::test]
async fn each_of_many_totals_of_a_day_is_checked_once() {
    let shop = Shop { day: "2020-01-02".to_owned(), ..Shop::by_hand().await };
    let kind = |number: usize| format!("{number:04}{}", "\u{1f4b6}".repeat(124));
    let at = shop.books.at("2020-01-02T12:00:00Z".parse().expect("a time"));
    for group in 0..8 {
        let body = shop.wide(|number| kind(number * 8 + group)).await;
        for again in 0..2 {
            assert_eq!(at.post_once(TRANSACTIONS, &format!("{group}-{again}"), &body).await.status, 201);
        }
    }
    shop.count_all().await;
    assert_eq!(shop.totals().await.len(), 8 * 49);
    assert_eq!(shop.discrepancies().await, Vec::<Value>::new());
    let mut wanted: Vec<String> = [0, 200, 391].map(kind).to_vec();
    for kind in &wanted {
        shop.rows().set(&key_of(&shop.total("ALL", kind).await), json!({"Debits": {"N": "9999.00"}})).await;
    }
    let mut found: Vec<String> =
        shop.discrepancies().await.iter().map(|one| text(&one["total"], "accountType").to_owned()).collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    shop.books.stack.stop().await;
}

/// The header of a counted transaction is gone: its legs are orphans, and the totals still have it.
#[tokio::test]
async fn a_wrong_total_that_another_finding_explains_is_not_reported() {
    let shop = of_2020(Books::open().await).await;
    let of_day = |header: &Item| header["CreatedAt"].as_s().is_ok_and(|time| time.starts_with(&shop.day));
    let header = shop.books.headers().await.into_iter().find(of_day).expect("a transaction");
    Rows::of(&shop.books.stack).delete(&header_key(header["ID"].as_s().expect("an id"))).await;
    let found = shop.discrepancies().await;
    let kinds: Vec<&str> = found.iter().filter_map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, ["orphan-leg"; 2], "{found:?}");
    shop.books.stack.stop().await;
}

#[tokio::test]
async fn an_unreadable_total_is_skipped_and_reported() {
    let shop = of_2020(Books::open().await).await;
    let (merchants, rows) = (format!("MERCHANT#{}", shop.merchant), shop.rows());
    let totals = format!("{MERCHANTS}/{}/totals?from=2020-01-01&to=2020-01-02", shop.merchant);
    for (scope, path, debits) in [
        ("ALL", "/ledger/trial-balance?date=2020-01-02", json!({"S": "nonsense"})),
        (merchants.as_str(), totals.as_str(), json!({"N": "0.001"})),
    ] {
        let key = key_of(&shop.total(scope, "external").await);
        let healthy = rows.get(&key).await;
        rows.set(&key, json!({"Debits": debits})).await;
        let answer = shop.books.operator.get(path).await;
        assert_eq!((answer.status, &answer.body["skipped"]), (200, &json!(1)), "{}", answer.body);
        assert!(answer.body["items"].as_array().is_some_and(|items| !items.is_empty()), "{}", answer.body);
        let found = shop.discrepancies().await;
        assert_eq!((found.len(), &found[0]["kind"]), (1, &json!("unreadable-item")), "{found:?}");
        assert_eq!(found[0]["key"]["PK"], key["PK"]["S"]);
        rows.put(&[healthy.to_string()]).await;
    }
    shop.books.stack.stop().await;
}

impl Shop {
    /// Posts payments in yen between two accounts, in turn, and counts all transactions twice.
    async fn pay_yen(&self, amounts: &[String]) {
        let yen = [self.books.source("JPY").await, self.books.source("JPY").await];
        let at = self.books.at("2020-01-02T12:00:00Z".parse().expect("a time"));
        for (number, amount) in amounts.iter().enumerate() {
            let mut body = payment(&yen[number % 2], &yen[1 - number % 2], amount);
            (body["currency"], body["merchantId"]) = ("JPY".into(), self.merchant.as_str().into());
            assert_eq!(at.post_once(TRANSACTIONS, &format!("yen-{number}"), &body).await.status, 201);
        }
        for _ in 0..2 {
            self.count_all().await;
        }
    }

    async fn with_shards(shards: &str) -> Self {
        let stack = without_counting().parameter("TotalsWriteShards", shards).parameter("TotalsReadShards", shards);
        Self::of(Books::of(stack.start().await.expect("a stack")).await).await
    }
}

/// One line that is too large hides neither the other currencies nor the other account types.
#[tokio::test]
async fn a_sum_of_more_than_38_digits_is_left_out_and_counted() {
    // With one shard, the stored total is full. With four, each of them has room for one payment.
    for shards in ["1", "4"] {
        let shop = Shop::with_shards(shards).await;
        let mut body = payment(&shop.payer, &shop.account, "2.00");
        body["merchantId"] = shop.merchant.as_str().into();
        let at = shop.books.at("2020-01-02T12:00:00Z".parse().expect("a time"));
        assert_eq!(at.post_once(TRANSACTIONS, "a", &body).await.status, 201);
        shop.pay_yen(&vec!["9".repeat(38); 12]).await;
        let totals = format!("{MERCHANTS}/{}/totals?from=2020-01-02&to=2020-01-02", shop.merchant);
        for path in ["/ledger/trial-balance?date=2020-01-02", totals.as_str()] {
            let answer = shop.books.operator.get(path).await;
            assert_eq!((answer.status, &answer.body["skipped"]), (200, &json!(1)), "{}", answer.body);
            let items = answer.body["items"].as_array().expect("a list").iter();
            let lines: Vec<_> =
                items.map(|item| ["accountType", "currency", "debits"].map(|name| text(item, name))).collect();
            assert_eq!(lines, [["checking", "USD", "0.00"], ["external", "USD", "2.00"]]);
        }
        shop.books.stack.stop().await;
    }
}

/// A payment that fits into no shard leaves its line out, even if the stored sums alone would fit.
#[tokio::test]
async fn a_total_that_lacks_a_transaction_is_left_out_and_reported() {
    let shop = Shop::with_shards("1").await;
    shop.pay_yen(&["2".repeat(38), "9".repeat(38)]).await;
    let balance = shop.books.operator.get("/ledger/trial-balance?date=2020-01-02").await;
    assert_eq!(balance.body, json!({"date": "2020-01-02", "items": [], "skipped": 1}));
    let found = shop.discrepancies().await;
    assert_eq!(found[0]["kind"], "unreadable-item", "{found:?}");
    shop.books.stack.stop().await;
}
