//! A plain model of the ledger: balances, holds, and the refunds of each transaction.

use super::operations::{Action, Operation, Outcome, Part, Settled, payment};
use jiff::Timestamp;
use keys::ledger::{HoldStatus, LegType};
use money::{Currency, Decimal, Money};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use system_tests::{parsed, text};

/// Returns the amount in minor units.
pub(super) fn minor(amount: Decimal, currency: Currency) -> i128 {
    Money::new(amount, currency).expect("an amount").minor()
}

/// An account. Amounts are in minor units.
#[derive(Debug, Clone)]
pub(super) struct Holder {
    pub(super) id: String,
    pub(super) currency: Currency,
    pub(super) is_negative: bool,
    /// Whether credits wait in an inbox until they are posted.
    pub(super) is_grouped: bool,
    pub(super) balance: i128,
    /// The time and the id of the last leg.
    last: (String, String),
}

impl Holder {
    pub(super) fn new(id: String, currency: Currency, is_negative: bool, is_grouped: bool) -> Self {
        Self { id, currency, is_negative, is_grouped, balance: 0, last: Default::default() }
    }

    /// Reads an amount of a response.
    pub(super) fn minor(&self, body: &Value, member: &str) -> i128 {
        minor(parsed(text(body, member)), self.currency)
    }

    /// Returns the amount as it is written in a request.
    pub(super) fn amount(&self, minor: i128) -> Decimal {
        Money::of_minor(minor, self.currency).expect("an amount").amount()
    }
}

/// A hold. Amounts are in minor units.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    pub(super) debit: usize,
    pub(super) credit: usize,
    pub(super) amount: i128,
    pub(super) captured: i128,
    /// The captured amount before the current round.
    captured_before: i128,
    expires: Timestamp,
    pub(super) status: HoldStatus,
}

impl Hold {
    pub(super) fn is_open(&self) -> bool {
        self.status == HoldStatus::Held
    }

    /// The amount that is not captured.
    pub(super) fn rest(&self) -> i128 {
        self.amount - self.captured
    }

    fn must_be_open(&self, at: Timestamp) {
        assert!(self.is_open() && at < self.expires, "a request at {at} changes {self:?}");
    }

    fn capture(&mut self, minor: i128, asked: Option<i128>, at: Timestamp) {
        self.must_be_open(at);
        assert_eq!(minor, asked.unwrap_or(self.rest()), "{self:?}");
        self.captured += minor;
        assert!(self.rest() >= 0, "{self:?}");
        if self.rest() == 0 {
            self.status = HoldStatus::Captured;
        }
    }
}

/// A posted transaction.
#[derive(Debug, Clone)]
pub(super) struct Posted {
    pub(super) parts: Vec<Part>,
    pub(super) is_reversal: bool,
    /// The sum of its reversals, in minor units of all currencies.
    pub(super) refunded: i128,
    /// The sum of its reversals before the current round.
    pub(super) refunded_before: i128,
}

impl Posted {
    /// The sum of the debits, in minor units of all currencies.
    pub(super) fn whole(&self) -> i128 {
        debits(&self.parts)
    }

    /// Whether parts of the transaction can be reversed.
    pub(super) fn has_two_legs(&self) -> bool {
        self.parts.len() == 2
    }

    /// Returns the legs of a reversal. `minor` is the amount if the transaction has two legs.
    fn reversal(&self, minor: i128) -> Vec<Part> {
        let reversed = self.parts.iter().rev().map(|part| part.reversed());
        if self.has_two_legs() { reversed.map(|part| Part { minor, ..part }).collect() } else { reversed.collect() }
    }

    fn refund(&mut self, minor: i128, asked: Option<i128>) {
        assert!(!self.is_reversal && minor == asked.unwrap_or(self.whole() - self.refunded), "{self:?}");
        self.refunded += minor;
        assert!(self.refunded <= self.whole(), "{self:?}");
    }
}

fn debits(parts: &[Part]) -> i128 {
    parts.iter().filter(|part| part.leg_type == LegType::Debit).map(|part| part.minor).sum()
}

/// A transaction as its response reports it.
struct Transaction<'a> {
    action: &'a Action,
    at: Timestamp,
    created: String,
    id: String,
    /// The id of each leg, and the balance after it. A grouped credit has no balance.
    legs: Vec<(String, Part, Option<i128>)>,
}

/// The model of the ledger.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) holders: Vec<Holder>,
    /// The holds by id.
    pub(super) holds: BTreeMap<String, Hold>,
    /// The transactions by id.
    pub(super) posted: BTreeMap<String, Posted>,
    /// The ids of the transactions in the order of their times.
    pub(super) order: Vec<String>,
}

impl Model {
    /// Returns the reserved amount of each account.
    pub(super) fn held(&self) -> Vec<i128> {
        let mut held = vec![0; self.holders.len()];
        for hold in self.holds.values().filter(|hold| hold.is_open()) {
            held[hold.debit] += hold.rest();
        }
        held
    }

    /// Returns the available amount of each account.
    pub(super) fn available(&self) -> Vec<i128> {
        self.holders.iter().zip(self.held()).map(|(holder, held)| holder.balance - held).collect()
    }

    /// Applies the successful operations of a round. The transactions are applied in the order of
    /// their times. For each account, this is the order in which the ledger has posted them.
    ///
    /// # Panics
    /// Panics if a response differs from the request or from the model.
    pub(super) fn apply(&mut self, settled: &[Settled]) {
        self.holds.values_mut().for_each(|hold| hold.captured_before = hold.captured);
        self.posted.values_mut().for_each(|posted| posted.refunded_before = posted.refunded);
        let (mut transactions, mut voids) = (Vec::new(), Vec::new());
        for one in settled {
            let (Some(outcome), at) = (one.success(), one.at) else { continue };
            match &one.operation.action {
                Action::Hold { .. } => self.open(&one.operation, at, outcome),
                Action::Void { hold } => voids.push((hold, at, outcome)),
                action => transactions.push(self.transaction(action, at, outcome)),
            }
        }
        let mut pending = vec![0; self.holders.len()];
        for (_, part, _) in transactions.iter().flat_map(|one| &one.legs).filter(|(_, _, after)| after.is_none()) {
            pending[part.account] += part.minor;
        }
        transactions.sort_by(|one, other| (&one.created, &one.id).cmp(&(&other.created, &other.id)));
        for transaction in transactions {
            self.post(transaction, &pending);
        }
        for (holder, pending) in self.holders.iter_mut().zip(pending) {
            holder.balance += pending;
        }
        for (hold, at, outcome) in voids {
            self.void(hold, at, outcome);
        }
    }

    fn open(&mut self, operation: &Operation, at: Timestamp, outcome: &Outcome) {
        let Action::Hold { debit, credit, minor, expires } = operation.action else { unreachable!("{operation:?}") };
        let (body, [from, to]) = (&outcome.body, [&self.holders[debit], &self.holders[credit]]);
        let accounts = [&body["debitAccountId"], &body["creditAccountId"]];
        let amounts = ["amount", "captured", "remaining"].map(|member| from.minor(body, member));
        assert_eq!((accounts, amounts), ([&json!(from.id), &json!(to.id)], [minor, 0, minor]), "{operation:?}: {body}");
        let shown: Timestamp = parsed(text(body, "expiresAt"));
        assert!(body["status"] == "held" && shown == expires.unwrap_or(shown) && at < shown, "{operation:?}: {body}");
        let (captured, captured_before, status) = (0, 0, HoldStatus::Held);
        let hold = Hold { debit, credit, amount: minor, captured, captured_before, expires: shown, status };
        let known = self.holds.insert(text(body, "holdId").to_owned(), hold);
        assert!(known.is_none(), "two requests have opened {body}");
    }

    fn void(&mut self, id: &str, at: Timestamp, outcome: &Outcome) {
        let hold = self.holds.get_mut(id).expect("a hold");
        hold.must_be_open(at);
        hold.status = HoldStatus::Voided;
        let (debit, body) = (&self.holders[hold.debit], &outcome.body);
        let amounts = ["captured", "remaining"].map(|member| debit.minor(body, member));
        assert_eq!((&body["status"], amounts), (&json!("voided"), [hold.captured, 0]), "{hold:?}: {body}");
    }

    /// Reads a transaction from its response, and checks that its legs are the requested ones.
    fn transaction<'a>(&self, action: &'a Action, at: Timestamp, outcome: &Outcome) -> Transaction<'a> {
        let body = &outcome.body;
        let legs = body["legs"].as_array().expect("legs");
        let of = |leg: &Value| self.holders.iter().find(|holder| leg["accountId"] == holder.id).expect("an account");
        let read = |leg: &Value, member: &str| of(leg).minor(leg, member);
        let all = || read(&legs[0], "amount");
        let parts = match action {
            Action::Transfer(parts) => parts.clone(),
            Action::Capture { hold, minor } => {
                let hold = &self.holds[hold];
                payment(hold.debit, hold.credit, minor.unwrap_or_else(all))
            }
            Action::Refund { original, minor } => self.posted[original].reversal(minor.unwrap_or_else(all)),
            Action::Hold { .. } | Action::Void { .. } => unreachable!("{action:?} posts no transaction"),
        };
        assert_eq!(legs.len(), parts.len(), "{action:?}: {body}");
        let entry = |(leg, part): (&Value, Part)| {
            let holder = &self.holders[part.account];
            let asked = (json!(holder.id), json!(part.leg_type), part.minor);
            assert_eq!((leg["accountId"].clone(), leg["legType"].clone(), read(leg, "amount")), asked, "{action:?}");
            let is_posted = !holder.is_grouped || part.leg_type == LegType::Debit;
            (text(leg, "legId").to_owned(), part, is_posted.then(|| read(leg, "balanceAfter")))
        };
        Transaction {
            action,
            at,
            created: text(body, "createdAt").to_owned(),
            id: text(body, "transactionId").to_owned(),
            legs: legs.iter().zip(parts).map(entry).collect(),
        }
    }

    /// Applies a transaction. `pending` are all grouped credits of the round.
    fn post(&mut self, transaction: Transaction<'_>, pending: &[i128]) {
        let Transaction { action, at, created, id, legs } = transaction;
        let parts: Vec<Part> = legs.iter().map(|(_, part, _)| *part).collect();
        match action {
            Action::Capture { hold, minor } => {
                self.holds.get_mut(hold).expect("a hold").capture(debits(&parts), *minor, at);
            }
            Action::Refund { original, minor } => {
                self.posted.get_mut(original).expect("a transaction").refund(debits(&parts), *minor);
            }
            _ => {}
        }
        for (leg, part, after) in legs {
            let (holder, Some(after)) = (&mut self.holders[part.account], after) else { continue };
            assert!(created > holder.last.0 || holder.last.1.starts_with(&id), "{leg} is not later");
            holder.balance += part.change();
            // A debit of a grouped account sees those credits of the round that were posted before.
            let seen = holder.balance..=holder.balance + pending[part.account];
            assert!(seen.contains(&after), "{after} after {leg} in {holder:?}");
            assert!(part.change() > 0 || after >= 0 || holder.is_negative, "{leg} overdraws its account");
            holder.last = (created.clone(), leg);
        }
        let is_reversal = matches!(action, Action::Refund { .. });
        let posted = Posted { parts, is_reversal, refunded: 0, refunded_before: 0 };
        let known = self.posted.insert(id.clone(), posted);
        assert!(known.is_none(), "two requests have posted {id}");
        self.order.push(id);
    }

    /// Ends the holds that are expired at `now`. Returns their number.
    pub(super) fn expire(&mut self, now: Timestamp) -> usize {
        let expired = self.holds.values_mut().filter(|hold| hold.is_open() && hold.expires <= now);
        expired.map(|hold| hold.status = HoldStatus::Expired).count()
    }

    /// Whether the ledger may reject an operation of the last round with this problem. `least` is
    /// the lowest available amount of each account in the round, and `latest` the time of the
    /// latest request.
    pub(super) fn may_reject(&self, action: &Action, problem: &str, least: &[i128], latest: Timestamp) -> bool {
        match (problem, action) {
            ("insufficient-funds", Action::Transfer(parts)) => self.lacks(parts, least),
            ("insufficient-funds", Action::Hold { debit, credit, minor, .. }) => {
                self.lacks(&payment(*debit, *credit, *minor), least)
            }
            ("insufficient-funds", Action::Refund { original, minor }) => {
                let original = &self.posted[original];
                let rest = original.whole() - original.refunded_before;
                self.lacks(&original.reversal(minor.unwrap_or(rest)), least)
            }
            ("hold-closed", Action::Capture { hold, .. } | Action::Void { hold }) => {
                let hold = &self.holds[hold];
                matches!(hold.status, HoldStatus::Captured | HoldStatus::Voided) || hold.expires <= latest
            }
            ("hold-exceeded", Action::Capture { hold, minor }) => {
                let hold = &self.holds[hold];
                // Another capture can reduce the rest while a request captures all that remains.
                minor.map_or(hold.captured > hold.captured_before, |minor| minor > hold.rest())
            }
            ("is-reversal", Action::Refund { original, .. }) => self.posted[original].is_reversal,
            ("already-reversed", Action::Refund { original, .. }) => {
                let original = &self.posted[original];
                original.refunded == original.whole()
            }
            ("reversal-exceeded", Action::Refund { original, minor: Some(minor) }) => {
                let original = &self.posted[original];
                *minor > original.whole() - original.refunded
            }
            _ => false,
        }
    }

    /// Whether the legs could have overdrawn an account at some point in the round.
    fn lacks(&self, parts: &[Part], least: &[i128]) -> bool {
        let mut changes = BTreeMap::<usize, i128>::new();
        parts.iter().filter(|part| !self.holders[part.account].is_negative).any(|part| {
            let change = changes.entry(part.account).or_default();
            *change += part.change();
            least[part.account] + *change < 0
        })
    }
}
