//! Tests of the tamper evidence
//! ([requirement](../../../../docs/requirements/ledger.md#tamper-evidence),
//! [proof](../../../../docs/ledger-proof.md)). The reconciliation of a large ledger must report
//! each change by hand, and nothing else.

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, stream};
use local::Builder;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use system_tests::{
    Client, changed, drained,
    ledger::audit::{
        DAY, RECONCILIATIONS, Rows, Shelf, account_key, at, cents, dollars, header_key, leg_id, leg_key, text_of,
    },
    ledger::totals::{COUNT, TOTALS},
};
use tokio::time::sleep;

/// Number of days in which the ledger has transactions. The first one is the second day of 2020.
const DAYS: i64 = 5;
/// Number of transactions between two settlements of all shops.
const SETTLED_EVERY: usize = 40;
/// Number of transactions that are written together.
const WRITTEN_TOGETHER: usize = 2_000;
/// Number of calls that change legs concurrently.
const WRITES: usize = 8;
/// Pause between two requests for the state of a reconciliation.
const PAUSE: Duration = Duration::from_millis(50);
/// Maximum number of these requests. A reconciliation of a million legs takes minutes.
const MAX_REQUESTS: usize = 36_000;

/// The size of a ledger.
struct Size {
    legs: usize,
    /// Number of accounts with direct posting.
    accounts: usize,
    /// Number of accounts with grouped posting.
    shops: usize,
    /// Maximum number of legs of a transaction.
    each: usize,
}

/// A transaction: its time, and the account and balance change of each leg.
struct Transaction {
    milli: i64,
    legs: Vec<(usize, i64)>,
}

/// A ledger that the test has written. Accounts are numbers, and the shops follow the other
/// accounts. Only transactions with a shop have a merchant.
struct Crowd {
    accounts: usize,
    shops: usize,
    transactions: Vec<Transaction>,
}

impl Crowd {
    /// Writes a ledger. It has legs before the window, transactions with and without shops, credits
    /// that are settled, and credits that are still in the inbox.
    async fn write(rows: &Rows, operator: &Client, size: &Size) -> Self {
        let mut crowd = Self { accounts: size.accounts, shops: size.shops, transactions: Vec::new() };
        let (mut books, mut random) = (Shelf::default(), fastrand::Rng::with_seed(7));
        crowd.open(&mut books);
        let (before, last) = (books.legs, 4 * size.shops);
        while books.legs < size.legs {
            let left = size.legs - books.legs;
            let legs = if left <= last { crowd.last_legs(left, &mut random) } else { crowd.legs(size, &mut random) };
            let milli = DAY + DAYS * DAY * number(books.legs - before) / number(size.legs - before);
            let transaction = Transaction { milli, legs };
            crowd.post(&mut books, &transaction);
            crowd.transactions.push(transaction);
            let (is_last, count) = (left <= last, crowd.transactions.len());
            if !is_last && (count.is_multiple_of(SETTLED_EVERY) || count.is_multiple_of(WRITTEN_TOGETHER)) {
                (0..size.shops).for_each(|shop| books.settle(&crowd.name(size.accounts + shop), milli + 1));
            }
            if !is_last && count.is_multiple_of(WRITTEN_TOGETHER) {
                books.put(rows).await;
                drained(operator, COUNT).await;
            }
        }
        books.put(rows).await;
        drained(operator, COUNT).await;
        crowd
    }

    /// Opens the accounts on the day before the window. Every fifth account has a hold, and every
    /// tenth account has two.
    fn open(&self, books: &mut Shelf) {
        let names: Vec<String> = (0..self.accounts).map(|account| self.name(account)).collect();
        for (milli, names) in (0..).zip(names.chunks(50)) {
            let credits = names.iter().map(|name| (name.as_str(), 10_000));
            let debit = [("O", -10_000 * number(names.len()))];
            let legs: Vec<_> = debit.into_iter().chain(credits).collect();
            books.post(&format!("T-opening-{milli}"), milli, &legs);
        }
        (0..self.shops).for_each(|shop| books.open_grouped(&self.name(self.accounts + shop)));
        for (account, name) in names.iter().enumerate() {
            for (hold, cents) in self.holds(account) {
                books.hold(&hold, [name, "O"], cents);
            }
        }
    }

    fn name(&self, account: usize) -> String {
        account.checked_sub(self.accounts).map_or_else(|| format!("A{account:04}"), |shop| format!("S{shop:02}"))
    }

    /// Returns the ids and the amounts of the account's holds.
    fn holds(&self, account: usize) -> Vec<(String, i64)> {
        let holds = [(account.is_multiple_of(5), "H1", 1_234), (account.is_multiple_of(10), "H2", 567)];
        let holds = holds.into_iter().filter(|(exists, ..)| *exists && account < self.accounts);
        holds.map(|(_, hold, cents)| (format!("{hold}-{}", self.name(account)), cents)).collect()
    }

    /// Returns the legs of a transaction. One of eight transactions is between an account and a
    /// shop.
    fn legs(&self, size: &Size, random: &mut fastrand::Rng) -> Vec<(usize, i64)> {
        if random.u8(..8) == 0 {
            let (account, shop) = (random.usize(..self.accounts), self.accounts + random.usize(..self.shops));
            let cents = random.i64(1..10_000);
            let (debit, credit) = if random.u8(..8) == 0 { (shop, account) } else { (account, shop) };
            return vec![(debit, -cents), (credit, cents)];
        }
        let count = random.usize(2..=size.each);
        self.between_accounts(count, random)
    }

    fn between_accounts(&self, count: usize, random: &mut fastrand::Rng) -> Vec<(usize, i64)> {
        let mut accounts = random.choose_multiple(0..self.accounts, count);
        random.shuffle(&mut accounts);
        let mut legs: Vec<(usize, i64)> = accounts.iter().map(|account| (*account, random.i64(1..10_000))).collect();
        legs[0].1 = -legs.iter().skip(1).map(|(_, cents)| cents).sum::<i64>();
        legs
    }

    /// Returns the legs of one of the last transactions. They pay the shops in turn.
    fn last_legs(&self, left: usize, random: &mut fastrand::Rng) -> Vec<(usize, i64)> {
        if left == 3 {
            return self.between_accounts(left, random);
        }
        let (shop, cents) = (self.accounts + left / 2 % self.shops, random.i64(1..10_000));
        vec![(random.usize(..self.accounts), -cents), (shop, cents)]
    }

    fn post(&self, books: &mut Shelf, transaction: &Transaction) {
        let names: Vec<String> = transaction.legs.iter().map(|(account, _)| self.name(*account)).collect();
        let legs: Vec<(&str, i64)> =
            names.iter().map(String::as_str).zip(transaction.legs.iter().map(|leg| leg.1)).collect();
        let merchant = self.shop(transaction).map(|shop| self.merchant(shop));
        books.post_to(merchant.as_deref(), &id_of(self.transactions.len()), transaction.milli, &legs);
    }

    /// Returns the shop that takes part in the transaction.
    fn shop(&self, transaction: &Transaction) -> Option<usize> {
        transaction.legs.iter().map(|(account, _)| *account).find(|account| *account >= self.accounts)
    }

    fn merchant(&self, shop: usize) -> String {
        format!("M-{}", self.name(shop))
    }

    /// Returns the transaction and the number of each leg of an account, oldest first. Omits the
    /// leg before the window.
    fn legs_of(&self, account: usize) -> Vec<(usize, usize)> {
        let place = |transaction: &Transaction| transaction.legs.iter().position(|(of, _)| *of == account);
        let legs = self
            .transactions
            .iter()
            .enumerate()
            .filter_map(|(index, transaction)| Some((index, place(transaction)? + 1)));
        legs.collect()
    }

    /// Returns the sum of the debits of accounts with direct posting on a day.
    fn debits(&self, day: i64) -> i64 {
        let legs = self
            .transactions
            .iter()
            .filter(|transaction| transaction.milli / DAY == day)
            .flat_map(|transaction| &transaction.legs);
        legs.filter(|(account, cents)| *account < self.accounts && *cents < 0).map(|(_, cents)| -cents).sum()
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).expect("a small number")
}

fn id_of(transaction: usize) -> String {
    format!("T{transaction:07}")
}

fn date(day: i64) -> String {
    at(day * DAY)[..10].to_owned()
}

fn text(text: &str) -> Value {
    json!({"S": text})
}

fn amount(cents: i64) -> Value {
    json!({"N": dollars(cents)})
}

/// A discrepancy of a response without its amounts.
fn found(kind: &str, transaction: Option<&str>, account: Option<&str>) -> Value {
    let mut found = json!({"kind": kind, "expected": null, "actual": null});
    for (name, id) in [("transactionId", transaction), ("accountId", account)] {
        if let Some(id) = id {
            found[name] = id.into();
        }
    }
    found
}

fn with_amounts(mut found: Value, expected: Option<i64>, actual: Option<i64>) -> Value {
    for (name, cents) in [("expected", expected), ("actual", actual)] {
        found[name] = cents.map_or(Value::Null, |cents| dollars(cents).into());
    }
    found
}

fn broken_chain(transaction: &str, account: &str, number: usize) -> Value {
    let mut found = found("broken-chain", Some(transaction), Some(account));
    found["legId"] = leg_id(transaction, number).into();
    found
}

fn wrong_total(date: &str, merchant: Option<&str>, sum: &str, [expected, actual]: [String; 2]) -> Value {
    let mut total =
        json!({"date": date, "transactionType": "payment", "accountType": "checking", "currency": "USD", "sum": sum});
    if let Some(merchant) = merchant {
        total["merchantId"] = merchant.into();
    }
    json!({"kind": "wrong-total", "total": total, "expected": expected, "actual": actual})
}

/// Changes a ledger by hand. Each change uses other accounts, so that no change explains the
/// discrepancies of another one.
struct Tampering<'a> {
    crowd: &'a Crowd,
    rows: &'a Rows,
    client: aws_sdk_dynamodb::Client,
    totals: String,
    /// The accounts of the changes.
    used: BTreeSet<usize>,
    /// The expected discrepancies of each change.
    wanted: BTreeMap<&'static str, Vec<Value>>,
    /// Number of transactions after the changes.
    transaction_count: i64,
}

impl Tampering<'_> {
    fn expect(&mut self, change: &'static str, findings: impl IntoIterator<Item = Value>) {
        let findings = findings.into_iter().collect();
        assert!(self.wanted.insert(change, findings).is_none(), "two changes are called {change}");
    }

    fn name(&self, account: usize) -> String {
        self.crowd.name(account)
    }

    /// Reserves the accounts. Returns `false` if another change uses one of them.
    fn reserve(&mut self, accounts: &[usize]) -> bool {
        let is_free = accounts.iter().all(|account| !self.used.contains(account));
        if is_free {
            self.used.extend(accounts);
        }
        is_free
    }

    /// Returns the number of the transaction after this percentage of all transactions.
    fn part(&self, percent: usize) -> usize {
        self.crowd.transactions.len() * percent / 100
    }

    /// Reserves the accounts of the first transaction that satisfies the condition, and returns its
    /// number. The search starts with the transaction `first`.
    fn transaction(&mut self, first: usize, is_meant: impl Fn(&Transaction) -> bool) -> usize {
        let crowd = self.crowd;
        for (index, transaction) in crowd.transactions.iter().enumerate().skip(first) {
            let accounts: Vec<usize> = transaction.legs.iter().map(|(account, _)| *account).collect();
            if is_meant(transaction) && self.reserve(&accounts) {
                return index;
            }
        }
        unreachable!("no transaction is left")
    }

    /// Reserves the accounts of a transaction with two legs, both with direct posting. Returns the
    /// number of the transaction, its id, and the names of its accounts.
    fn pair(&mut self, percent: usize) -> (usize, String, [String; 2]) {
        let crowd = self.crowd;
        let index = self.transaction(self.part(percent), |transaction| {
            transaction.legs.len() == 2 && crowd.shop(transaction).is_none()
        });
        (index, id_of(index), [0, 1].map(|leg| self.name(crowd.transactions[index].legs[leg].0)))
    }

    /// Reserves an account with direct posting that satisfies the condition.
    fn account(&mut self, is_meant: impl Fn(usize) -> bool) -> usize {
        let mut accounts = (0..self.crowd.accounts).filter(|account| is_meant(*account));
        accounts.find(|account| self.reserve(&[*account])).expect("an account")
    }

    /// Reserves the accounts of a payment to a shop. Returns the id, the shop and the amount.
    fn sale(&mut self, first: usize) -> (String, String, i64) {
        let shops = self.crowd.accounts..;
        let index = self.transaction(first, |transaction| shops.contains(&transaction.legs[1].0));
        let (shop, cents) = self.crowd.transactions[index].legs[1];
        (id_of(index), self.name(shop), cents)
    }

    /// Reserves the accounts of one of the last payments to shops, which are still in the inbox.
    /// Returns the id, the shop, the amount, and the key of the inbox item.
    async fn pending_sale(&mut self) -> (String, String, i64, Value) {
        let (id, shop, cents) = self.sale(self.crowd.transactions.len() - self.crowd.shops);
        let leg = self.rows.get(&leg_key(&id, 2)).await;
        let [shard, time] = ["InboxShard", "CreatedAt"].map(|name| text_of(&leg, name));
        let key = json!({
            "PK": {"S": format!("ACCOUNT#{shop}#INBOX#{shard}")}, "SK": {"S": format!("CREATED#{time}#{id}-02")},
        });
        (id, shop, cents, key)
    }

    /// Adds an amount to the balance of the account, and to the balances after its legs that are
    /// newer than the transaction.
    async fn shift(&self, account: usize, transaction: usize, cents: i64) {
        let legs = self.crowd.legs_of(account).into_iter().filter(|(index, _)| *index > transaction);
        let legs = legs.map(|(index, number)| self.add(leg_key(&id_of(index), number), "BalanceAfter", cents));
        stream::iter(legs).buffer_unordered(WRITES).collect::<()>().await;
        self.add(account_key(&self.name(account)), "Balance", cents).await;
    }

    async fn add(&self, key: Value, attribute: &str, more: i64) {
        let before = cents(&self.rows.get(&key).await, attribute);
        self.rows.set(&key, json!({attribute: amount(before + more)})).await;
    }

    /// Adds numbers to a daily total, in one of its shards.
    async fn add_to_total(&self, scope: &str, date: &str, numbers: &[(&str, i64)]) {
        for shard in 0..4 {
            let query = self.client.query().table_name(&self.totals).filter_expression("AccountType = :type");
            let query = query.key_condition_expression("PK = :scope AND begins_with(SK, :date)");
            let query = query.expression_attribute_values(":scope", AttributeValue::S(format!("{scope}#{shard}")));
            let query = query.expression_attribute_values(":date", AttributeValue::S(format!("DAY#{date}#")));
            let query = query.expression_attribute_values(":type", AttributeValue::S("checking".to_owned()));
            let items = query.send().await.expect("totals").items.unwrap_or_default();
            let Some(item) = items.into_iter().next() else { continue };
            for (attribute, more) in numbers {
                let more = if *attribute == "Transactions" { more.to_string() } else { dollars(*more) };
                let update = self.client.update_item().table_name(&self.totals).update_expression("ADD #a :more");
                let update = update.key("PK", item["PK"].clone()).key("SK", item["SK"].clone());
                let update = update.expression_attribute_names("#a", *attribute);
                let update = update.expression_attribute_values(":more", AttributeValue::N(more));
                update.send().await.expect("written");
            }
            return;
        }
        unreachable!("{scope} has no total on {date}")
    }
}

/// Altered amounts.
impl Tampering<'_> {
    /// Neither the balance nor the hash of the leg fits any more, but the first finding explains
    /// both. It is the only one.
    async fn alter_one_leg(&mut self) {
        let crowd = self.crowd;
        let index = self.transaction(self.part(10), |transaction| transaction.legs.len() > 2);
        let (id, debit) = (id_of(index), -crowd.transactions[index].legs[0].1);
        self.rows.set(&leg_key(&id, 1), json!({"Amount": amount(debit + 1)})).await;
        let unbalanced = found("unbalanced-transaction", Some(&id), None);
        self.expect("an amount in one leg", [with_amounts(unbalanced, Some(debit + 1), Some(debit))]);
    }

    /// A transaction has at most one finding of this kind, which names its first wrong leg.
    async fn alter_both_legs(&mut self) {
        let (index, id, [debit, _]) = self.pair(12);
        let cents = self.crowd.transactions[index].legs[1].1;
        for number in [1, 2] {
            self.rows.set(&leg_key(&id, number), json!({"Amount": amount(cents + 1)})).await;
        }
        let wrong = found("wrong-amount", Some(&id), Some(&debit));
        self.expect("an amount in both legs", [with_amounts(wrong, Some(cents), Some(cents + 1))]);
    }

    /// The header, all balances and the totals agree with the altered legs, so that only the hashes
    /// show the change. Both accounts of the transaction have a chain, and each chain is broken.
    async fn alter_everywhere(&mut self) {
        let (index, id, [debit, credit]) = self.pair(25);
        let Transaction { milli, legs } = &self.crowd.transactions[index];
        let (cents, more) = (legs[1].1, 100);
        for (number, (account, change)) in (1..).zip(legs) {
            let key = leg_key(&id, number);
            self.rows.set(&key, json!({"Amount": amount(cents + more)})).await;
            self.add(key, "BalanceAfter", more * change.signum()).await;
            self.shift(*account, index, more * change.signum()).await;
        }
        let posting = |side: &str, account: &str| text(&format!("{side}#{}#USD#{account}", dollars(cents + more)));
        let postings = json!({"L": [posting("debit", &debit), posting("credit", &credit)]});
        self.rows.set(&header_key(&id), json!({"Amount": amount(cents + more), "Legs": postings})).await;
        self.add_to_total("ALL", &date(milli / DAY), &[("Debits", more), ("Credits", more)]).await;
        self.expect("an amount everywhere", [broken_chain(&id, &debit, 1), broken_chain(&id, &credit, 2)]);
    }

    /// The owner is only part of the hash.
    async fn alter_the_owner(&mut self) {
        let (_, id, [_, credit]) = self.pair(14);
        self.rows.set(&leg_key(&id, 2), json!({"UserID": text("another")})).await;
        self.expect("the owner of a leg", [broken_chain(&id, &credit, 2)]);
    }

    /// The altered balance matches neither the previous leg nor the next one. An account has at
    /// most one finding. The newest mismatch is found first, and names the next leg.
    async fn alter_a_balance(&mut self) {
        let (index, id, [debit, _]) = self.pair(16);
        let account = self.crowd.transactions[index].legs[0].0;
        let next = self.next(account, index);
        let before = cents(&self.rows.get(&leg_key(&id, 1)).await, "BalanceAfter");
        let after = cents(&self.rows.get(&leg_key(&id_of(next.0), next.1)).await, "BalanceAfter");
        self.rows.set(&leg_key(&id, 1), json!({"BalanceAfter": amount(before + 5)})).await;
        let wrong = found("wrong-balance", Some(&id_of(next.0)), Some(&debit));
        self.expect("the balance after a leg", [with_amounts(wrong, Some(after + 5), Some(after))]);
        let account = self.account(|_| true);
        let (key, name) = (account_key(&self.name(account)), self.name(account));
        let balance = cents(&self.rows.get(&key).await, "Balance");
        self.add(key, "Balance", 7).await;
        let wrong = found("wrong-balance", None, Some(&name));
        self.expect("the balance of an account", [with_amounts(wrong, Some(balance), Some(balance + 7))]);
    }

    /// Returns the leg of the account after the transaction.
    fn next(&self, account: usize, transaction: usize) -> (usize, usize) {
        let legs = self.crowd.legs_of(account);
        legs.into_iter().find(|(index, _)| *index > transaction).expect("a later leg")
    }
}

/// Removed and inserted legs.
impl Tampering<'_> {
    /// The next leg does not continue the previous one, but the missing leg explains this.
    async fn remove_a_leg(&mut self) {
        let (index, id, [_, credit]) = self.pair(30);
        let cents = self.crowd.transactions[index].legs[1].1;
        self.rows.delete(&leg_key(&id, 2)).await;
        let missing = found("missing-leg", Some(&id), Some(&credit));
        self.expect("a leg that is removed", [with_amounts(missing, Some(cents), None)]);
    }

    /// All later balances are adjusted, so only the next leg of each account shows the change. The
    /// totals still contain the transaction.
    async fn remove_a_transaction(&mut self) {
        let (index, id, names) = self.pair(65);
        let Transaction { milli, legs } = &self.crowd.transactions[index];
        let mut findings = Vec::new();
        for (number, ((account, change), name)) in (1..).zip(legs.iter().zip(&names)) {
            self.rows.delete(&leg_key(&id, number)).await;
            self.shift(*account, index, -change).await;
            let (next, number) = self.next(*account, index);
            findings.push(broken_chain(&id_of(next), name, number));
        }
        self.rows.delete(&header_key(&id)).await;
        self.transaction_count -= 1;
        let (day, debit) = (milli / DAY, -legs[0].1);
        let debits = self.crowd.debits(day);
        findings.push(wrong_total(&date(day), None, "debits", [dollars(debits - debit), dollars(debits)]));
        self.expect("a transaction that is removed", findings);
    }

    /// The balances and hashes next to the inserted leg do not fit, but its finding explains this.
    async fn insert_a_leg(&mut self) {
        let transaction = &self.crowd.transactions[self.part(33)];
        let without = self.account(|_| true);
        let leg = Shelf::stray("X-leg", 1, &self.name(without), transaction.milli + 1, 9);
        self.rows.put(&[leg.to_string()]).await;
        let orphan = found("orphan-leg", Some("X-leg"), Some(&self.name(without)));
        self.expect("a leg without a transaction", [with_amounts(orphan, None, Some(9))]);
        let (index, id, _) = self.pair(35);
        let account = self.account(|_| true);
        let leg = Shelf::stray(&id, 3, &self.name(account), self.crowd.transactions[index].milli, 9);
        self.rows.put(&[leg.to_string()]).await;
        let orphan = found("orphan-leg", Some(&id), Some(&self.name(account)));
        self.expect("a leg that its transaction does not list", [with_amounts(orphan, None, Some(9))]);
    }

    /// The inserted legs follow from the previous legs, and all later balances are adjusted. Only
    /// the next leg of each account shows the change. The stream function has counted the inserted
    /// header, so the totals agree.
    async fn insert_a_transaction(&mut self) {
        let (crowd, middle, cents) = (self.crowd, self.part(50), 1_111);
        let has_both = |account: usize| {
            let legs = crowd.legs_of(account);
            legs.iter().any(|(index, _)| *index <= middle) && legs.iter().any(|(index, _)| *index > middle)
        };
        let accounts = [-cents, cents].map(|change| (self.account(has_both), change));
        let (mut books, mut findings) = (Shelf::default(), Vec::new());
        for (account, change) in accounts {
            let name = self.name(account);
            let mut legs = self.crowd.legs_of(account).into_iter();
            let (last, number) = legs.rfind(|(index, _)| *index <= middle).expect("an earlier leg");
            books.open_after(&name, &self.rows.get(&leg_key(&id_of(last), number)).await);
            self.shift(account, middle, change).await;
            let (next, number) = self.next(account, middle);
            findings.push(broken_chain(&id_of(next), &name, number));
        }
        let names = accounts.map(|(account, change)| (self.name(account), change));
        let legs = [0, 1].map(|leg| (names[leg].0.as_str(), names[leg].1));
        books.post("X-transaction", self.crowd.transactions[middle].milli + 1, &legs);
        books.put_transactions(self.rows).await;
        self.transaction_count += 1;
        self.expect("a transaction that is inserted", findings);
    }
}

/// Exchanged legs, and hashes.
impl Tampering<'_> {
    /// Finds an account with three consecutive legs. Reserves all accounts of the first two
    /// transactions. Returns the account and its three legs.
    fn consecutive(&mut self, percent: usize) -> (usize, [(usize, usize); 3]) {
        let (crowd, first) = (self.crowd, self.part(percent));
        for account in 0..crowd.accounts {
            let legs: Vec<_> = crowd.legs_of(account).into_iter().filter(|(index, _)| *index >= first).collect();
            let Some([one, other, next]) = legs.first_chunk() else { continue };
            let transactions = [one.0, other.0].map(|index| &crowd.transactions[index]);
            let accounts: BTreeSet<usize> =
                transactions.iter().flat_map(|transaction| &transaction.legs).map(|leg| leg.0).collect();
            if self.reserve(&accounts.into_iter().collect::<Vec<_>>()) {
                return (account, [*one, *other, *next]);
            }
        }
        unreachable!("no account is left")
    }

    /// Exchanges the times of two consecutive legs. Returns the account, the three legs, and the
    /// balances after them.
    async fn exchange(&mut self, percent: usize) -> (usize, [(usize, usize); 3], [i64; 3]) {
        let (account, legs) = self.consecutive(percent);
        let mut balances = [0; 3];
        for ((index, number), balance) in legs.iter().zip(&mut balances) {
            *balance = cents(&self.rows.get(&leg_key(&id_of(*index), *number)).await, "BalanceAfter");
        }
        for (leg, other) in [(legs[0], legs[1]), (legs[1], legs[0])] {
            let (id, time) = (id_of(leg.0), at(self.crowd.transactions[other.0].milli));
            let place = format!("LEG#{time}#{}", leg_id(&id, leg.1));
            self.rows.set(&leg_key(&id, leg.1), json!({"CreatedAt": text(&time), "GSI1SK": text(&place)})).await;
        }
        (account, legs, balances)
    }

    fn change(&self, (index, number): (usize, usize)) -> i64 {
        self.crowd.transactions[index].legs[number - 1].1
    }

    /// The legs keep their balances, so no leg continues the one before it. An account has at most
    /// one finding: the newest mismatch, between the later of both legs and the next leg.
    async fn exchange_two_legs(&mut self) {
        let (account, legs, balances) = self.exchange(40).await;
        let (expected, actual) = (balances[0] + self.change(legs[2]), balances[2]);
        let wrong = found("wrong-balance", Some(&id_of(legs[2].0)), Some(&self.name(account)));
        self.expect("two legs that are exchanged", [with_amounts(wrong, Some(expected), Some(actual))]);
    }

    /// The balances are adjusted to the new order, so only the hashes show the change. The first
    /// broken leg is the one that is earlier now.
    async fn exchange_two_legs_and_balances(&mut self) {
        let (account, legs, balances) = self.exchange(45).await;
        let [first, second] = [legs[0], legs[1]].map(|leg| leg_key(&id_of(leg.0), leg.1));
        let earlier = balances[1] - self.change(legs[0]);
        self.rows.set(&second, json!({"BalanceAfter": amount(earlier)})).await;
        self.rows.set(&first, json!({"BalanceAfter": amount(balances[1])})).await;
        let broken = broken_chain(&id_of(legs[1].0), &self.name(account), legs[1].1);
        self.expect("two legs that are exchanged with their balances", [broken]);
    }

    /// The next leg does not follow from the altered hash either, but an account has at most one
    /// finding of its chain: the first broken leg.
    async fn alter_hashes(&mut self) {
        let hash = json!({"Hash": text(&"0123456789abcdef".repeat(4))});
        let (_, id, [debit, _]) = self.pair(50);
        self.rows.set(&leg_key(&id, 1), hash.clone()).await;
        self.expect("the hash of a leg", [broken_chain(&id, &debit, 1)]);
        let (id, shop, _) = self.sale(self.part(20));
        self.rows.set(&posting_key(&id), hash.clone()).await;
        self.expect("the hash of a posting", [broken_chain(&id, &shop, 2)]);
        let account = self.account(|_| true);
        self.rows.set(&account_key(&self.name(account)), json!({"LastLegHash": hash["Hash"]})).await;
        let (last, number) = *self.crowd.legs_of(account).last().expect("a leg");
        let broken = broken_chain(&id_of(last), &self.name(account), number);
        self.expect("the hash of the last leg in an account", [broken]);
    }
}

/// The primary key of the posting of a payment to a shop.
fn posting_key(transaction: &str) -> Value {
    json!({"PK": text(&format!("TXN#{transaction}")), "SK": text(&format!("POSTING#{}", leg_id(transaction, 2)))})
}

/// Totals, holds and grouped posting.
impl Tampering<'_> {
    async fn alter_totals(&mut self) {
        let debits = self.crowd.debits(1);
        self.add_to_total("ALL", &date(1), &[("Debits", -1)]).await;
        let wrong = wrong_total(&date(1), None, "debits", [dollars(debits), dollars(debits - 1)]);
        self.expect("a total of all transactions", [wrong]);
        let shop = self.crowd.accounts;
        let transactions = self.crowd.transactions.iter().filter(|transaction| transaction.milli / DAY == DAYS);
        let count = transactions.filter(|transaction| self.crowd.shop(transaction) == Some(shop)).count();
        let merchant = self.crowd.merchant(shop);
        self.add_to_total(&format!("MERCHANT#{merchant}"), &date(DAYS), &[("Transactions", 1)]).await;
        let counts = [count.to_string(), (count + 1).to_string()];
        self.expect("a total of a merchant", [wrong_total(&date(DAYS), Some(&merchant), "transactions", counts)]);
    }

    /// Reserves an account with the number of holds. Returns its name and its holds.
    fn holder(&mut self, holds: usize) -> (String, Vec<(String, i64)>) {
        let crowd = self.crowd;
        let account = self.account(|account| crowd.holds(account).len() == holds);
        (self.name(account), crowd.holds(account))
    }

    async fn alter_holds(&mut self) {
        let wrong = |account: &str, expected, actual| {
            with_amounts(found("wrong-held", None, Some(account)), Some(expected), actual)
        };
        let (account, holds) = self.holder(1);
        let mut item = self.rows.get(&account_key(&account)).await;
        item.as_object_mut().expect("an item").remove("Held");
        self.rows.put(&[item.to_string()]).await;
        self.expect("a hold without a reserve", [wrong(&account, holds[0].1, None)]);
        let (account, holds) = self.holder(2);
        self.add(account_key(&account), "Held", -holds[1].1).await;
        let held = holds[0].1;
        self.expect("a hold without its part of the reserve", [wrong(&account, held + holds[1].1, Some(held))]);
        let (account, holds) = self.holder(1);
        self.rows.delete(&json!({"PK": text(&format!("HOLD#{}", holds[0].0)), "SK": text("METADATA")})).await;
        self.expect("a reserve without its hold", [wrong(&account, 0, Some(holds[0].1))]);
    }

    /// The credits before and after a removed posting do not fit, but the missing posting explains
    /// this.
    async fn alter_grouped_credits(&mut self) {
        let of = |kind: &str, id: &str, shop: &str, expected, actual| {
            with_amounts(found(kind, Some(id), Some(shop)), expected, actual)
        };
        let (id, shop, cents) = self.sale(self.part(30));
        self.rows.delete(&posting_key(&id)).await;
        self.expect("a posting that is removed", [of("missing-posting", &id, &shop, Some(cents), None)]);
        let (id, shop, cents) = self.sale(self.part(40));
        self.rows.set(&posting_key(&id), json!({"Amount": amount(cents + 1)})).await;
        self.expect("the amount of a posting", [of("wrong-amount", &id, &shop, Some(cents), Some(cents + 1))]);
        let (id, shop, cents, key) = self.pending_sale().await;
        self.rows.delete(&key).await;
        self.expect("an inbox item that is removed", [of("missing-posting", &id, &shop, Some(cents), None)]);
        let (id, shop, cents, key) = self.pending_sale().await;
        self.rows.set(&key, json!({"Amount": amount(cents + 1)})).await;
        self.expect("the amount of an inbox item", [of("wrong-amount", &id, &shop, Some(cents), Some(cents + 1))]);
        let (id, shop, cents, key) = self.pending_sale().await;
        let mut item = self.rows.get(&key).await;
        let sort = text_of(&key, "SK").replace(&id, "X-item");
        for (name, value) in [("ID", leg_id("X-item", 2)), ("TransactionID", "X-item".to_owned()), ("SK", sort.clone())]
        {
            item[name] = text(&value);
        }
        self.rows.put(&[item.to_string()]).await;
        let mut orphan = of("orphan-inbox-item", "X-item", &shop, None, Some(cents));
        orphan["key"] = json!({"PK": key["PK"]["S"], "SK": sort});
        self.expect("an inbox item that is inserted", [orphan]);
    }
}

/// Reconciles all days with transactions, and returns the completed reconciliation.
async fn reconciled(operator: &Client) -> Value {
    let body = json!({"from": at(DAY), "to": at((DAYS + 1) * DAY - 1)});
    let answer = operator.post(RECONCILIATIONS, &body).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    let path = answer.headers["location"].to_str().expect("a path");
    for _ in 0..MAX_REQUESTS {
        let body = operator.get(path).await.body;
        if body["status"] != "running" {
            assert_eq!(body["status"], "done", "{body}");
            return body;
        }
        sleep(PAUSE).await;
    }
    unreachable!("{path} never ends")
}

/// Removes the findings about waiting credits from the discrepancies, and returns their number. The
/// ledger is of 2020, so each shop has a credit that has waited for more than an hour.
fn without_waiting(body: &mut Value) -> usize {
    let all = body["discrepancies"].as_array_mut().expect("a list");
    let count = all.len();
    all.retain(|found| found["kind"] != "unsettled-credit");
    count - all.len()
}

/// Configures a stack in which credits stay in the inbox, because the settlement does not run.
fn without_settlement() -> Builder {
    let mapping = "        Settlements:\n          Type: DynamoDB\n          Properties:\n";
    changed("ledger", (mapping, 1), &format!("{mapping}            Enabled: false\n"))
}

async fn every_change_is_reported(size: &Size, stack: Builder) {
    let stack = stack.start().await.expect("a stack");
    let (rows, operator) = (Rows::of(&stack), Client::operator(&stack));
    let crowd = Crowd::write(&rows, &operator, size).await;
    let counts = |body: &Value| (body["accounts"].clone(), body["transactions"].clone());
    let (accounts, transactions) = (size.accounts + size.shops + 1, number(crowd.transactions.len()));
    let mut body = reconciled(&operator).await;
    assert_eq!(without_waiting(&mut body), size.shops);
    assert_eq!(body["discrepancies"], json!([]), "the ledger without changes");
    assert_eq!(counts(&body), (json!(accounts), json!(transactions)));

    let mut tampering = Tampering {
        crowd: &crowd,
        rows: &rows,
        client: stack.client().expect("a client"),
        totals: stack.table(TOTALS).expect("a table").to_owned(),
        // The merchant of the first shop has a wrong total.
        used: BTreeSet::from([size.accounts]),
        wanted: BTreeMap::new(),
        transaction_count: transactions,
    };
    Box::pin(tamper(&mut tampering)).await;
    drained(&operator, COUNT).await;
    let mut body = reconciled(&operator).await;
    // The removed inbox item may have been the only one of its shop.
    assert!((size.shops - 1..=size.shops).contains(&without_waiting(&mut body)), "{body}");
    assert_eq!(problems(tampering.wanted, &body["discrepancies"]), Vec::<String>::new());
    assert_eq!(counts(&body), (json!(accounts), json!(tampering.transaction_count)));
    stack.stop().await;
}

async fn tamper(tampering: &mut Tampering<'_>) {
    tampering.alter_one_leg().await;
    tampering.alter_both_legs().await;
    tampering.alter_everywhere().await;
    tampering.alter_the_owner().await;
    tampering.alter_a_balance().await;
    tampering.remove_a_leg().await;
    tampering.remove_a_transaction().await;
    tampering.insert_a_leg().await;
    tampering.insert_a_transaction().await;
    tampering.exchange_two_legs().await;
    tampering.exchange_two_legs_and_balances().await;
    tampering.alter_hashes().await;
    tampering.alter_totals().await;
    tampering.alter_holds().await;
    tampering.alter_grouped_credits().await;
}

/// Compares the expected discrepancies of each change with the reported ones.
fn problems(wanted: BTreeMap<&'static str, Vec<Value>>, reported: &Value) -> Vec<String> {
    let mut reported = reported.as_array().expect("a list").clone();
    let mut problems = Vec::new();
    for (change, findings) in wanted {
        for finding in findings {
            match reported.iter().position(|other| *other == finding) {
                Some(position) => drop(reported.remove(position)),
                None => problems.push(format!("{change}: missing {finding}")),
            }
        }
    }
    problems.extend(reported.iter().map(|finding| format!("unexpected {finding}")));
    problems
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_every_change_among_4_000_legs() {
    let size = Size { legs: 4_000, accounts: 150, shops: 16, each: 6 };
    Box::pin(every_change_is_reported(&size, without_settlement())).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn reports_every_change_among_1_000_000_legs() {
    // The in-memory database of the local DynamoDB engine is limited to 1 GB. This test therefore
    // uses a file.
    let folder = std::env::temp_dir().join(format!("evidence-{}", fastrand::u64(..)));
    std::fs::create_dir(&folder).expect("a folder");
    let size = Size { legs: 1_000_000, accounts: 1_000, shops: 24, each: 40 };
    Box::pin(every_change_is_reported(&size, without_settlement().data(folder.join("data.db")))).await;
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}
