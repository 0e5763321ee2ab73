//! Random requests.

use super::{
    ACCOUNTS_IN_LEDGER, CURRENCIES, DRIFT, PAUSE, World,
    faults::Trouble,
    model::{Model, Posted},
    operations::{Action, Operation, Part, Request, Work, payment},
};
use jiff::SignedDuration;
use serde_json::{Value, json};

/// The number of recent transactions that refunds choose from. Several refunds of a round therefore
/// have the same original.
const RECENT: usize = 30;
/// The maximum number of transfers in a batch.
const MAX_BATCH: usize = 8;
/// The maximum number of stream records that are repeated.
const MAX_RECORDS: usize = 20;
/// The largest amount, in minor units.
const MAX_AMOUNT: u64 = 20_000;

impl World {
    /// Returns a random request, its time and its fault.
    pub(super) fn request(&mut self) -> Request {
        let at = self.now + SignedDuration::from_millis(self.rng.i64(-DRIFT..=DRIFT));
        let work = match self.rng.u8(..100) {
            0..=36 => Work::One(self.transfer()),
            37..=42 => Work::Batch((0..self.rng.usize(2..=MAX_BATCH)).map(|_| self.transfer()).collect()),
            43..=60 => Work::One(self.hold()),
            61..=77 => Work::One(self.capture()),
            78..=83 => Work::One(self.void()),
            84..=96 => Work::One(self.refund()),
            97 => self.settlement(),
            98 => self.repeated_records(),
            _ => Work::Release,
        };
        // These are rare, so many of them crash.
        let trouble = match work {
            Work::Release | Work::Stream { .. } if self.rng.bool() => Trouble::crash(&mut self.rng),
            _ => Trouble::random(&mut self.rng),
        };
        *self.troubles.entry(trouble.name()).or_default() += 1;
        self.requests += 1;
        Request { work, at, trouble }
    }

    /// Returns an event that continues the settlement of an account, which may be running already.
    fn settlement(&mut self) -> Work {
        let grouped: Vec<_> = self.model.holders.iter().filter(|holder| holder.is_grouped).collect();
        let records = self.rng.choice(grouped).map(|account| {
            let keys = json!({"PK": {"S": format!("SETTLEMENT#{}", account.id)}, "SK": {"S": "METADATA"}});
            json!({"eventName": "MODIFY", "dynamodb": {"Keys": keys, "SequenceNumber": "1"}})
        });
        Work::Stream { function: "settle-account", records: records.into_iter().collect() }
    }

    /// Returns recent stream records of transactions and inbox items once more.
    fn repeated_records(&mut self) -> Work {
        let count = self.rng.usize(1..=MAX_RECORDS);
        let records = self.rng.choose_multiple(&self.history.inserted, count).into_iter().cloned().collect();
        Work::Stream { function: "react-to-transactions", records }
    }

    fn operation(&mut self, action: Action, body: Value) -> Operation {
        self.keys += 1;
        Operation { key: format!("K-{}", self.keys), action, body }
    }

    /// Returns an account to debit and an account to credit, both with this currency.
    fn pair(&mut self, currency: usize) -> [usize; 2] {
        let mut two = self.rng.choose_multiple((currency..ACCOUNTS_IN_LEDGER).step_by(CURRENCIES.len()), 2);
        self.rng.shuffle(&mut two);
        [two[0], two[1]]
    }

    fn amount(&mut self) -> i128 {
        i128::from(self.rng.u64(1..=MAX_AMOUNT))
    }

    /// Returns balanced legs in one currency: up to `most` pairs, each with a debit and a credit of
    /// the same amount. An account may be in several pairs, always on the same side.
    fn parts(&mut self, currency: usize, most: usize) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for _ in 0..self.rng.usize(1..=most) {
            let ([from, to], minor) = (self.pair(currency), self.amount());
            let pair = payment(from, to, minor);
            let is_other_side = |part: &Part| {
                let other = |own: &Part| own.account == part.account && own.leg_type != part.leg_type;
                parts.iter().any(other)
            };
            if !pair.iter().any(is_other_side) {
                parts.extend(pair);
            }
        }
        parts
    }

    fn transfer(&mut self) -> Operation {
        let currency = self.rng.usize(..CURRENCIES.len());
        let most = if self.rng.u8(..10) == 0 { 3 } else { 1 };
        let mut parts = self.parts(currency, most);
        if self.rng.u8(..20) == 0 {
            parts.extend(self.parts((currency + 1) % CURRENCIES.len(), 1));
        }
        let leg = |part: &Part| {
            let holder = &self.model.holders[part.account];
            let (id, amount) = (&holder.id, holder.amount(part.minor));
            json!({"accountId": id, "legType": part.leg_type, "amount": amount, "currency": holder.currency})
        };
        let legs: Vec<Value> = parts.iter().map(leg).collect();
        let body = if let ([from, to], true) = (&legs[..], self.rng.bool()) {
            json!({
                "transactionType": "transfer",
                "debitAccountId": from["accountId"],
                "creditAccountId": to["accountId"],
                "amount": from["amount"],
                "currency": from["currency"],
            })
        } else {
            json!({"legs": legs})
        };
        self.operation(Action::Transfer(parts), body)
    }

    /// Returns a request to open a hold. Many holds expire during one of the next rounds.
    fn hold(&mut self) -> Operation {
        let currency = self.rng.usize(..CURRENCIES.len());
        let ([debit, credit], minor) = (self.pair(currency), self.amount());
        let expires = match self.rng.u8(..10) {
            0..=3 => Some(SignedDuration::from_secs(PAUSE * self.rng.i64(1..=3))),
            4..=5 => Some(SignedDuration::from_hours(30 * 24)),
            _ => None,
        };
        let drift = SignedDuration::from_millis(self.rng.i64(-DRIFT..=DRIFT));
        let expires = expires.map(|after| self.now + after + drift);
        let [from, to] = [debit, credit].map(|account| &self.model.holders[account]);
        let mut body = json!({"debitAccountId": from.id, "creditAccountId": to.id, "currency": from.currency});
        body["amount"] = json!(from.amount(minor));
        if let Some(expires) = expires {
            body["expiresAt"] = json!(expires.to_string());
        }
        self.operation(Action::Hold { debit, credit, minor, expires }, body)
    }

    /// Chooses a hold, usually one that is open.
    fn some_hold(&mut self) -> Option<String> {
        let any = self.rng.u8(..10) == 0;
        let holds: Vec<&String> =
            self.model.holds.iter().filter(|(_, hold)| any || hold.is_open()).map(|(id, _)| id).collect();
        self.rng.choice(holds).cloned()
    }

    /// Returns an amount of up to `most`, or `None` for all that remains.
    fn part_of(&mut self, most: i128) -> Option<i128> {
        self.rng.bool().then(|| i128::from(self.rng.u64(1..=u64::try_from(most).expect("an amount"))))
    }

    fn capture(&mut self) -> Operation {
        let Some(hold) = self.some_hold() else { return self.hold() };
        let (debit, amount) = (self.model.holds[&hold].debit, self.model.holds[&hold].amount);
        let minor = self.part_of(amount);
        let body = self.amount_body(debit, minor);
        self.operation(Action::Capture { hold, minor }, body)
    }

    fn amount_body(&self, account: usize, minor: Option<i128>) -> Value {
        minor.map_or(json!({}), |minor| json!({"amount": self.model.holders[account].amount(minor)}))
    }

    fn void(&mut self) -> Operation {
        let Some(hold) = self.some_hold() else { return self.hold() };
        self.operation(Action::Void { hold }, json!({}))
    }

    /// Chooses a recent transaction, or one that is reversed in part.
    fn some_transaction(&mut self) -> Option<String> {
        let Model { order, posted, .. } = &self.model;
        let recent = &order[order.len().saturating_sub(RECENT)..];
        let in_part = |one: &Posted| one.has_two_legs() && (1..one.whole()).contains(&one.refunded);
        let in_part: Vec<_> = posted.iter().filter(|(_, one)| in_part(one)).map(|(id, _)| id).collect();
        if self.rng.u8(..3) == 0 { self.rng.choice(in_part).cloned() } else { self.rng.choice(recent).cloned() }
    }

    fn refund(&mut self) -> Operation {
        let Some(original) = self.some_transaction() else { return self.transfer() };
        let posted = &self.model.posted[&original];
        let (account, whole, has_two_legs) = (posted.parts[0].account, posted.whole(), posted.has_two_legs());
        let minor = self.part_of(whole).filter(|_| has_two_legs);
        let body = self.amount_body(account, minor);
        self.operation(Action::Refund { original, minor }, body)
    }
}
