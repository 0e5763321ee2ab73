//! Invariants of a ledger: each balance is the sum of its legs, and no money is created or lost.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::{Answer, Asks};
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use keys::{
    AccountId, TransactionId,
    ledger::{HoldStatus, LegId},
};
use ledger::{Account, Booking, Hold, InboxItem, Leg, Posting, Reversal, SettledLeg, Transaction};
use local::Stack;
use money::{Currency, Decimal, Money};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use table::Item;

/// Returns the API Gateway event of an operator's request to post a transaction at the time `now`.
pub fn posting(key: &str, body: &Value, now: Timestamp) -> Value {
    let path = crate::ledger::TRANSACTIONS;
    Asks { route: "POST /ledger/transactions", path, parameters: Value::Null, key: Some(key), body: Some(body) }.at(now)
}

/// Repeats the request until the response is neither 429 nor 503.
pub async fn until_told(ask: impl AsyncFn() -> Answer) -> Answer {
    for _ in 0..100 {
        let answer = ask().await;
        if !matches!(answer.status, 429 | 503) {
            return answer;
        }
        assert_eq!(answer.headers["retry-after"], "1", "{}", answer.body);
    }
    unreachable!("every response was 429 or 503")
}

/// The accounts, headers and legs in the ledger's table.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The accounts by id.
    pub accounts: BTreeMap<AccountId, Account>,
    /// The headers by transaction id.
    pub transactions: BTreeMap<TransactionId, Transaction>,
    /// The legs by id.
    pub legs: BTreeMap<LegId, Leg>,
    /// The postings of grouped credits by leg id.
    pub postings: BTreeMap<LegId, Leg>,
    /// The inbox items of grouped credits by leg id.
    pub inbox: BTreeMap<LegId, InboxItem>,
    /// The holds.
    pub holds: Vec<Hold>,
    /// The reversal markers.
    pub reversals: Vec<Reversal>,
}

impl Stored {
    /// Reads the whole table with strong consistency.
    pub async fn read(stack: &Stack) -> Self {
        let client = stack.client().expect("a client");
        let table = stack.table("FinancialTransactions").expect("a table");
        let mut pages = client.scan().table_name(table).consistent_read(true).into_paginator().items().send();
        let mut stored = Self::default();
        while let Some(item) = pages.next().await {
            stored.add(item.expect("an item"));
        }
        stored
    }

    fn add(&mut self, item: HashMap<String, AttributeValue>) {
        match item["Type"].as_s().expect("a type").as_str() {
            Account::TYPE => {
                let account: Account = typed(item);
                self.accounts.insert(account.id.clone(), account);
            }
            Transaction::TYPE => {
                let transaction: Transaction = typed(item);
                self.transactions.insert(transaction.id.clone(), transaction);
            }
            Leg::TYPE => {
                let leg: Leg = typed(item);
                self.legs.insert(leg.id.clone(), leg);
            }
            SettledLeg::TYPE => {
                let SettledLeg(posting) = typed(item);
                self.postings.insert(posting.id.clone(), posting);
            }
            InboxItem::TYPE => {
                let item: InboxItem = typed(item);
                self.inbox.insert(item.id.clone(), item);
            }
            Hold::TYPE => self.holds.push(typed(item)),
            Reversal::TYPE => self.reversals.push(typed(item)),
            other => assert!(["AccountCount", "Merchant", "ReferenceGuard"].contains(&other), "{other}"),
        }
    }

    /// Returns the account's legs, oldest first.
    pub fn legs_of(&self, account: &str) -> Vec<&Leg> {
        let mut legs: Vec<_> = self.entries().filter(|leg| leg.account.as_str() == account).collect();
        legs.sort_by_key(|leg| leg.place());
        legs
    }

    /// Returns the entries of all accounts: the legs that their transactions have posted, and the
    /// postings of grouped credits.
    pub fn entries(&self) -> impl Iterator<Item = &Leg> {
        self.legs.values().filter(|leg| leg.entry().is_some()).chain(self.postings.values())
    }

    /// Returns the sum of the account's inbox, in minor units.
    pub fn pending(&self, account: &Account) -> i128 {
        let own = self.inbox.values().filter(|item| item.account == account.id);
        own.map(|item| minor(item.amount, account.currency)).sum()
    }

    /// Checks that each grouped credit has either an inbox item or a posting, with its amount, and
    /// that nothing else has one.
    fn check_grouped(&self) {
        let mut grouped = 0;
        for leg in self.legs.values().filter(|leg| matches!(leg.booking, Booking::Grouped(_))) {
            let of = |item: &InboxItem| (item.account.clone(), minor(item.amount, item.currency));
            let of_posting = |posting: &Leg| (posting.account.clone(), change(posting));
            let found = [self.inbox.get(&leg.id).map(of), self.postings.get(&leg.id).map(of_posting)];
            let found: Vec<_> = found.into_iter().flatten().collect();
            assert_eq!(found, [(leg.account.clone(), change(leg))], "{leg:?}");
            grouped += 1;
        }
        assert_eq!(self.inbox.len() + self.postings.len(), grouped, "{:?} {:?}", self.inbox, self.postings);
    }

    /// Returns the transactions with this idempotency key.
    pub fn under(&self, key: &str) -> Vec<&Transaction> {
        let of_key =
            |transaction: &&Transaction| transaction.idempotency_key.as_ref().is_some_and(|own| own.as_str() == key);
        self.transactions.values().filter(of_key).collect()
    }

    /// Returns the stored account.
    pub fn account(&self, id: &str) -> &Account {
        self.accounts.get(&id.parse().expect("an id")).expect("an account")
    }

    /// Checks that the account reserves what its open holds have not captured, and that it covers
    /// what it reserves.
    fn check_holds_of(&self, account: &Account) {
        let own = self.holds.iter().filter(|hold| hold.debit == account.id);
        let rest = |hold: &Hold| minor(hold.amount, hold.currency) - minor(hold.captured, hold.currency);
        assert!(own.clone().all(|hold| rest(hold) >= 0 && hold.currency == account.currency), "{:?}", self.holds);
        let held: i128 = own.filter(|hold| hold.status == HoldStatus::Held).map(rest).sum();
        let stored = account.held.map(|held| minor(held, account.currency));
        assert_eq!(stored.unwrap_or_default(), held, "{account:?}");
        assert!(account.allow_negative || minor(account.balance, account.currency) >= held, "{account:?}");
    }

    /// Checks the invariants of the ledger.
    ///
    /// # Panics
    /// Panics if an invariant is violated.
    pub fn check(&self) {
        for account in self.accounts.values() {
            self.check_holds_of(account);
        }
        self.check_grouped();
        let mut legs = BTreeMap::<_, Vec<&Leg>>::new();
        for leg in self.legs.values() {
            legs.entry(leg.transaction()).or_default().push(leg);
        }
        for (id, transaction) in &self.transactions {
            of_one_piece(transaction, &legs.remove(id).unwrap_or_default());
        }
        assert!(legs.is_empty(), "legs without a transaction: {legs:?}");
        let mut histories = BTreeMap::<_, Vec<&Leg>>::new();
        for leg in self.entries() {
            histories.entry(&leg.account).or_default().push(leg);
        }
        let mut sums = BTreeMap::<Currency, i128>::new();
        for (id, account) in &self.accounts {
            agrees(account, histories.remove(id).unwrap_or_default());
            let balance = minor(account.balance, account.currency);
            *sums.entry(account.currency).or_default() += balance + self.pending(account);
        }
        assert!(histories.is_empty(), "legs without an account: {histories:?}");
        assert!(sums.values().all(|sum| *sum == 0), "money was created or lost: {sums:?}");
    }
}

/// Checks that a transaction has exactly the legs that its header lists, and that the legs balance.
fn of_one_piece(transaction: &Transaction, legs: &[&Leg]) {
    let id = &transaction.id;
    let told: Vec<_> = transaction.postings.iter().map(Posting::to_string).collect();
    let is = |leg: &&Leg| {
        let amount = Money::new(leg.amount, leg.currency).expect("an amount");
        Posting { leg_type: leg.leg_type, amount, account: leg.account.clone() }.to_string()
    };
    assert_eq!(legs.iter().map(is).collect::<Vec<_>>(), told, "the legs of {id}");
    assert!(legs.iter().all(|leg| leg.created_at == transaction.created_at), "the times of {id}");
    let mut sums = BTreeMap::<Currency, i128>::new();
    for posting in &transaction.postings {
        *sums.entry(posting.amount.currency()).or_default() += posting.change().minor();
    }
    assert!(sums.values().all(|sum| *sum == 0), "{id} creates or loses money: {sums:?}");
}

/// Checks that the account's balance is the sum of its legs, and that each leg stores the right
/// balance. Also checks that no two transactions have the same time.
fn agrees(account: &Account, mut legs: Vec<&Leg>) {
    legs.sort_by_key(|leg| leg.place());
    let id = &account.id;
    let (mut balance, mut last) = (0, None::<&Leg>);
    for leg in &legs {
        let is_next = last.is_none_or(|last| {
            let (before, now) = (last.place().created, leg.place().created);
            let are_settled = [last, leg].iter().all(|leg| leg.entry().is_some_and(|entry| entry.posted_at.is_some()));
            match (are_settled, last.transaction() == leg.transaction()) {
                // One settlement posts credits of several transactions at the same time.
                (true, _) => before <= now,
                (false, true) => before == now,
                (false, false) => before < now,
            }
        });
        assert!(is_next, "{id}: {} must be later than {last:?}", leg.id);
        balance += change(leg);
        let after = leg.entry().expect("an entry").balance_after;
        assert_eq!(minor(after, leg.currency), balance, "{id}: balance after {}", leg.id);
        assert!(leg.is_chained_to(last), "{id}: the hash of {}", leg.id);
        last = Some(leg);
    }
    assert_eq!(minor(account.balance, account.currency), balance, "the balance of {id}");
    let pointer = account.last.as_ref().map(|last| (&last.leg, &last.transaction, last.created, last.hash));
    let newest = last.map(|leg| (&leg.id, leg.transaction(), leg.place().created, leg.entry().expect("an entry").hash));
    assert_eq!(pointer, newest, "the last leg of {id}");
    assert!(balance >= 0 || account.allow_negative, "{id} is overdrawn: {balance}");
    let transactions = legs.chunk_by(|one, next| one.place().created == next.place().created).count();
    assert!(
        account.version > i64::try_from(transactions).expect("a small number"),
        "{id}: one version for each transaction"
    );
}

/// Returns the amount by which the leg changes the account's balance, in minor units.
pub fn change(leg: &Leg) -> i128 {
    let amount = Money::new(leg.amount, leg.currency).expect("an amount");
    Posting { leg_type: leg.leg_type, amount, account: leg.account.clone() }.change().minor()
}

fn minor(amount: Decimal, currency: Currency) -> i128 {
    Money::new(amount, currency).expect("an amount").minor()
}

/// Deserializes an item. Converts numbers to text first, because the item types expect text.
fn typed<T: Item + DeserializeOwned>(mut item: HashMap<String, AttributeValue>) -> T {
    for name in T::NUMBERS {
        if let Some(AttributeValue::N(number)) = item.get(name.as_str()).cloned() {
            let number = Decimal::of_number(&number).expect("a number");
            item.insert(name.to_string(), AttributeValue::S(number.to_string()));
        }
    }
    serde_dynamo::from_item(item).expect("an item of its type")
}
