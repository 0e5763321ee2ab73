//! The cart of one account as a plain model, requests to it at a time of the test's choosing, and what stands in the table.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::{Asks, Client, random};
use aws_sdk_dynamodb::types::AttributeValue;
use cart::{Line, LineBody, Previous, Quantity};
use futures::future::join_all;
use keys::{
    AccountId, IdempotencySort, OrderId, Sku, TimestampMillis,
    cart::{ItemId, ItemSort, LineSort, Status},
};
use local::Stack;
use money::Money;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};
use table::Item;

/// Lines that may be ACTIVE in one cart.
pub const MAX_LINES: usize = 32;

/// Days that a line stays in a cart that is left alone, and one more after a change.
const DAYS: i64 = 30;
const WEEK: i64 = 7;

/// What is asked of one account.
#[derive(Debug, Clone)]
pub enum Operation {
    /// C1.
    Add {
        /// The product.
        sku: Sku,
        /// How many.
        quantity: u32,
        /// What one costs.
        price: Option<Money>,
        /// The idempotency key.
        key: Option<String>,
    },
    /// C2.
    Change {
        /// Which line.
        item: ItemId,
        /// How many from now on.
        quantity: Option<u32>,
        /// Where it moves.
        status: Option<Status>,
        /// What it is purchased under.
        order: Option<OrderId>,
    },
    /// C3.
    Remove {
        /// Which line.
        item: ItemId,
    },
    /// C4.
    CheckOut {
        /// The idempotency key.
        key: Option<String>,
    },
    /// C8.
    Look {
        /// Which line.
        item: ItemId,
    },
}

impl Operation {
    /// Adds so many of the product `S-<number>`, without a price and a key.
    #[must_use]
    pub fn add(sku: usize, quantity: u32) -> Self {
        Self::Add { sku: format!("S-{sku}").parse().expect("a product"), quantity, price: None, key: None }
    }

    /// Changes the quantity alone.
    #[must_use]
    pub fn count(item: ItemId, quantity: u32) -> Self {
        Self::Change { item, quantity: Some(quantity), status: None, order: None }
    }

    /// Changes the status alone.
    #[must_use]
    pub fn bring(item: ItemId, status: Status) -> Self {
        Self::Change { item, quantity: None, status: Some(status), order: None }
    }

    /// Buys, without a key.
    #[must_use]
    pub fn check_out() -> Self {
        Self::CheckOut { key: None }
    }

    /// The same under an idempotency key, where it takes one.
    #[must_use]
    pub fn under(mut self, name: &str) -> Self {
        if let Self::Add { key, .. } | Self::CheckOut { key } = &mut self {
            *key = Some(name.to_owned());
        }
        self
    }

    /// The function that does it.
    #[must_use]
    pub fn function(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add-cart-item",
            Self::Change { .. } => "update-cart-item",
            Self::Remove { .. } => "remove-cart-item",
            Self::CheckOut { .. } => "checkout-cart",
            Self::Look { .. } => "get-cart-item",
        }
    }

    fn item(&self) -> Option<ItemId> {
        match self {
            Self::Change { item, .. } | Self::Remove { item } | Self::Look { item } => Some(*item),
            _ => None,
        }
    }

    /// Its idempotency key.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Add { key, .. } | Self::CheckOut { key } => key.as_deref(),
            _ => None,
        }
    }

    fn body(&self) -> Option<Value> {
        let mut body = match self {
            Self::Add { sku, quantity, price, .. } => json!({
                "sku": sku,
                "quantity": quantity,
                "price": price.map(Money::amount),
                "currency": price.map(Money::currency),
            }),
            Self::Change { quantity, status, order, .. } => {
                json!({"quantity": quantity, "status": status, "orderId": order})
            }
            _ => return None,
        };
        body.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
        Some(body)
    }

    /// Its event, as API Gateway sends it at that time.
    #[must_use]
    pub fn event(&self, account: &AccountId, now: TimestampMillis) -> Value {
        let (method, rest) = match self {
            Self::Add { .. } => ("POST", "/items"),
            Self::CheckOut { .. } => ("POST", "/checkout"),
            Self::Change { .. } => ("PATCH", "/items/{itemId}"),
            Self::Remove { .. } => ("DELETE", "/items/{itemId}"),
            Self::Look { .. } => ("GET", "/items/{itemId}"),
        };
        let item = self.item().map(|item| item.to_string());
        let route = format!("{method} /cart/accounts/{{accountId}}{rest}");
        let rest = item.as_deref().map_or(rest.to_owned(), |item| rest.replace("{itemId}", item));
        let path = format!("/cart/accounts/{account}{rest}");
        let mut parameters = json!({"accountId": account});
        if let Some(item) = item {
            parameters["itemId"] = item.into();
        }
        let body = self.body();
        Asks { route: &route, path: &path, parameters, key: self.key(), body: body.as_ref() }.at(now.instant())
    }
}

impl Operation {
    /// Asks for it at that time.
    pub async fn ask(self, stack: &Stack, account: &AccountId, now: TimestampMillis) -> Asked {
        let answer = Client::operator(stack).invoke(self.function(), &self.event(account, now)).await;
        Asked { reply: Reply::read(&answer.body).heard(), operation: self, now }
    }
}

/// What a function answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u64,
    /// The body, null where there is none.
    pub body: Value,
}

impl Reply {
    /// From what the function hands to API Gateway.
    #[must_use]
    pub fn read(answer: &Value) -> Self {
        let body = answer["body"].as_str().filter(|body| !body.is_empty());
        let body = body.map_or(Value::Null, |body| serde_json::from_str(body).expect("JSON"));
        Self { status: answer["statusCode"].as_u64().expect("a status"), body }
    }

    /// The answer, if it tells what came of the request and not only to send it again.
    #[must_use]
    pub fn heard(self) -> Option<Self> {
        Some(self).filter(|reply| !matches!(reply.status, 429 | 503))
    }

    /// The problem's type, as `409 cart-full`; the status alone where all is well.
    #[must_use]
    pub fn kind(&self) -> String {
        let kind = self.body["type"].as_str().and_then(|kind| kind.strip_prefix("/problems/"));
        kind.map_or_else(|| self.status.to_string(), |kind| format!("{} {kind}", self.status))
    }

    fn line(status: u64, line: &Line) -> Self {
        Self { status, body: json!(LineBody::from(line.clone())) }
    }

    fn problem(status: u64, kind: &str) -> Self {
        Self { status, body: json!({"type": format!("/problems/{kind}")}) }
    }

    /// Whether both say the same: the same thing, or the same problem.
    fn says(&self, other: &Self) -> bool {
        let same = if self.status < 300 { self.body == other.body } else { self.body["type"] == other.body["type"] };
        self.status == other.status && same
    }
}

/// What came of a keyed request, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// The line that was made or grew, as it was then.
    Added {
        /// Whether it was made.
        created: bool,
        /// The line.
        line: Box<Line>,
    },
    /// The order.
    CheckedOut {
        /// Its id.
        order: OrderId,
        /// The time of its lines.
        at: TimestampMillis,
    },
}

/// An idempotency record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Record {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: IdempotencySort,
    request: String,
    #[serde(with = "json_text")]
    outcome: Outcome,
    expires_at: i64,
}

mod json_text {
    use super::Outcome;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _, ser::Error as _};

    pub(super) fn serialize<S: Serializer>(outcome: &Outcome, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&serde_json::to_string(outcome).map_err(S::Error::custom)?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Outcome, D::Error> {
        serde_json::from_str(&String::deserialize(input)?).map_err(D::Error::custom)
    }
}

impl Item for Record {
    const TYPE: &'static str = "IdempotencyRecord";
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Pointer {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: ItemSort,
    line: LineSort,
    expires_at: Option<i64>,
}

/// One account: its lines, those included that nobody sees any more, and what came of its keyed requests.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// In no order.
    pub lines: Vec<Line>,
    /// The request and its outcome by the key; the table does not tell the request.
    pub outcomes: BTreeMap<String, (String, Outcome)>,
    /// What was added, and more or less by changes of quantities.
    pub balance: i64,
}

/// A request, and what was answered; none where nobody knows.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What was asked.
    pub operation: Operation,
    /// When.
    pub now: TimestampMillis,
    /// What was answered.
    pub reply: Option<Reply>,
}

/// So many days later, in seconds since 1970.
fn after(now: TimestampMillis, days: i64) -> i64 {
    now.instant().as_second() + days * 86_400
}

fn number(quantity: Quantity) -> i64 {
    i64::from(u32::from(quantity))
}

fn quantity(number: u32) -> Quantity {
    Quantity::try_from(number).expect("a quantity")
}

type Done = Result<Line, Reply>;

impl Account {
    /// Does the operation by the rules, and answers what must be answered. Ids of what is new are those of the real answer.
    pub fn apply(
        &mut self,
        account: &AccountId,
        operation: &Operation,
        now: TimestampMillis,
        told: Option<&Reply>,
    ) -> Reply {
        let told = told.map_or(&Value::Null, |reply| &reply.body);
        if let Some(reply) = operation.key().and_then(|key| self.replay(key, operation)) {
            return reply;
        }
        let done = match operation {
            Operation::Add { sku, quantity: more, price, .. } => {
                return self.add(account, (sku, quantity(*more), *price), operation, now, told);
            }
            Operation::CheckOut { .. } => return self.check_out(operation, now, told),
            Operation::Look { item } => self.look(*item, now).map(|line| self.lines[line].clone()),
            Operation::Change { item, quantity: wanted, status, order } => {
                let (order, given) = (order.clone().or_else(|| id(&told["orderId"])), order.is_some());
                self.change(*item, wanted.map(quantity), *status, (order, given), now)
            }
            Operation::Remove { item } => {
                let found = self.look(*item, now);
                let moved = found.and_then(|line| self.moved(line, Status::Removed, now));
                return moved.map_or_else(|reply| reply, |_| Reply { status: 204, body: Value::Null });
            }
        };
        done.map_or_else(|reply| reply, |line| Reply::line(200, &line))
    }

    fn replay(&self, key: &str, operation: &Operation) -> Option<Reply> {
        let (request, outcome) = self.outcomes.get(key)?;
        if *request != format!("{operation:?}") {
            return Some(Reply::problem(422, "idempotency-key-reused"));
        }
        Some(match outcome {
            Outcome::Added { created, line } => Reply::line(if *created { 201 } else { 200 }, line),
            Outcome::CheckedOut { order, at } => self.order(order, *at),
        })
    }

    fn order(&self, order: &OrderId, at: TimestampMillis) -> Reply {
        let bought = |line: &&Line| line.order_id.as_ref() == Some(order) && line.sort.since == at;
        let mut lines: Vec<_> = self.lines.iter().filter(bought).cloned().collect();
        lines.sort_by_key(|line| Reverse(line.sort));
        let items: Vec<_> = lines.into_iter().map(LineBody::from).collect();
        Reply { status: 200, body: json!({"orderId": order, "items": items}) }
    }

    fn remember(&mut self, operation: &Operation, outcome: Outcome) {
        if let Some(key) = operation.key() {
            self.outcomes.insert(key.to_owned(), (format!("{operation:?}"), outcome));
        }
    }

    /// Lines that customers see under the status, newest first.
    #[must_use]
    pub fn listed(&self, status: Status, now: TimestampMillis) -> Vec<&Line> {
        let mut lines: Vec<_> =
            self.lines.iter().filter(|line| line.sort.status == status && line.is_live(now)).collect();
        lines.sort_by_key(|line| Reverse(line.sort));
        lines
    }

    fn active(&self, sku: &Sku, now: TimestampMillis) -> Option<usize> {
        let is = |line: &Line| line.sort.status == Status::Active && line.sku == *sku && line.is_live(now);
        self.lines.iter().position(is)
    }

    fn look(&self, item: ItemId, now: TimestampMillis) -> Result<usize, Reply> {
        let seen = |line: &Line| line.id() == item && line.sort.status.is_listed() && line.is_live(now);
        self.lines.iter().position(seen).ok_or_else(|| Reply::problem(404, "not-found"))
    }

    fn add(
        &mut self,
        account: &AccountId,
        (sku, more, price): (&Sku, Quantity, Option<Money>),
        operation: &Operation,
        now: TimestampMillis,
        told: &Value,
    ) -> Reply {
        let there = self.active(sku, now);
        let line = match there {
            Some(line) => match self.grown(line, more, now) {
                Ok(line) => line,
                Err(reply) => return reply,
            },
            None if self.listed(Status::Active, now).len() >= MAX_LINES => return Reply::problem(409, "cart-full"),
            None => {
                let item = id(&told["itemId"]).unwrap_or_else(|| ItemId::new(now.instant(), &random()));
                let sort = LineSort { status: Status::Active, since: now, item };
                self.balance += number(more);
                self.lines.push(Line {
                    account: account.clone(),
                    sort,
                    index_partition: Some(sku.clone()),
                    index_sort: Some(sort),
                    sku: sku.clone(),
                    quantity: more,
                    price: None,
                    added_at: now,
                    order_id: None,
                    version: 1,
                    previous: None,
                    joined_to: None,
                    expires_at: Some(after(now, DAYS + 1)),
                });
                self.lines.len() - 1
            }
        };
        self.lines[line].price = price.or(self.lines[line].price);
        let (created, line) = (there.is_none(), self.lines[line].clone());
        let reply = Reply::line(if created { 201 } else { 200 }, &line);
        self.remember(operation, Outcome::Added { created, line: line.into() });
        reply
    }

    /// More of the line.
    fn grown(&mut self, line: usize, more: Quantity, now: TimestampMillis) -> Result<usize, Reply> {
        let sum = self.lines[line].quantity.plus(more).ok_or_else(|| Reply::problem(409, "quantity-limit"))?;
        self.counted(line, sum, now);
        Ok(line)
    }

    fn counted(&mut self, line: usize, quantity: Quantity, now: TimestampMillis) {
        let line = &mut self.lines[line];
        self.balance += number(quantity) - number(line.quantity);
        line.quantity = quantity;
        line.version += 1;
        line.expires_at = line.expires_at.map(|at| if at >= after(now, DAYS) { at } else { after(now, DAYS + 1) });
    }

    fn moved(&mut self, line: usize, status: Status, now: TimestampMillis) -> Result<usize, Reply> {
        let old = &mut self.lines[line];
        if old.sort.status == Status::Purchased {
            return Err(Reply::problem(409, "purchased"));
        }
        old.previous = Some(Previous { status: old.sort.status, since: old.sort.since, quantity: old.quantity });
        old.sort = LineSort { status, since: old.sort.since.max(now), item: old.id() };
        old.index_partition = status.is_listed().then(|| old.sku.clone());
        old.index_sort = status.is_listed().then_some(old.sort);
        old.version += 1;
        old.expires_at = match status {
            Status::Active => Some(after(now, DAYS + 1)),
            Status::Saved | Status::Purchased => None,
            Status::Removed | Status::Joined => Some(after(now, WEEK)),
        };
        Ok(line)
    }

    fn change(
        &mut self,
        item: ItemId,
        wanted: Option<Quantity>,
        to: Option<Status>,
        (order, given): (Option<OrderId>, bool),
        now: TimestampMillis,
    ) -> Done {
        let line = match self.look(item, now) {
            Err(missing) if to == Some(Status::Active) => {
                // The same request again, as long as that line is still in the cart.
                let is_same = |line: &&Line| {
                    line.id() == item && line.is_live(now) && wanted.is_none_or(|quantity| quantity == line.quantity)
                };
                let same = self.lines.iter().find(is_same);
                let Some(joined) = same.and_then(|line| line.joined_to) else { return Err(missing) };
                let there = &self.lines[self.look(joined, now)?];
                return if there.sort.status == Status::Active { Ok(there.clone()) } else { Err(missing) };
            }
            found => found?,
        };
        let old = self.lines[line].clone();
        match to {
            Some(status) if status != old.sort.status => {
                if old.sort.status == Status::Purchased {
                    return Err(Reply::problem(409, "purchased"));
                }
                let more = wanted.unwrap_or(old.quantity);
                if status == Status::Active {
                    if let Some(there) = self.active(&old.sku, now) {
                        self.grown(there, more, now)?;
                        self.lines[there].price = self.lines[there].price.or(old.price);
                        self.moved(line, Status::Joined, now)?;
                        self.lines[line].quantity = more;
                        self.lines[line].joined_to = Some(self.lines[there].id());
                        // What it had is a part of the other now.
                        self.balance -= number(old.quantity);
                        return Ok(self.lines[there].clone());
                    }
                    if self.listed(Status::Active, now).len() >= MAX_LINES {
                        return Err(Reply::problem(409, "cart-full"));
                    }
                }
                self.moved(line, status, now)?;
                self.balance += number(more) - number(old.quantity);
                self.lines[line].quantity = more;
                if status == Status::Purchased {
                    self.lines[line].order_id = order.or_else(|| Some(OrderId::new(now.instant(), &random())));
                }
            }
            Some(Status::Purchased) if given && order != old.order_id => {
                return Err(Reply::problem(409, "purchased"));
            }
            _ => {
                if let Some(wanted) = wanted.filter(|wanted| *wanted != old.quantity) {
                    if old.sort.status == Status::Purchased {
                        return Err(Reply::problem(409, "purchased"));
                    }
                    self.counted(line, wanted, now);
                }
            }
        }
        Ok(self.lines[line].clone())
    }

    fn check_out(&mut self, operation: &Operation, now: TimestampMillis, told: &Value) -> Reply {
        let is_in = |line: &Line| line.sort.status == Status::Active && line.is_live(now);
        let lines: Vec<usize> = (0..self.lines.len()).filter(|line| is_in(&self.lines[*line])).collect();
        let Some(latest) = lines.iter().map(|line| self.lines[*line].sort.since).max() else {
            return Reply::problem(409, "cart-empty");
        };
        let at = latest.max(now);
        let order = id(&told["orderId"]).unwrap_or_else(|| OrderId::new(now.instant(), &random()));
        for line in lines {
            self.moved(line, Status::Purchased, at).expect("an open line");
            self.lines[line].order_id = Some(order.clone());
        }
        let reply = self.order(&order, at);
        self.remember(operation, Outcome::CheckedOut { order, at });
        reply
    }

    /// The account after the requests, which were made at once: as some order of them explains both what each was answered
    /// and what stands in the table. A request that nobody heard of again was done or was not.
    #[must_use]
    pub fn explain(&self, account: &AccountId, asked: &[Asked], stored: &Self) -> Option<Self> {
        let asked = asked.iter().map(|asked| {
            let replies = asked.reply.as_ref().map_or_else(
                || self.new_in(stored, &asked.operation).into_iter().map(|body| Reply { status: 0, body }).collect(),
                |reply| vec![reply.clone()],
            );
            (asked, replies)
        });
        self.in_some_order(account, &asked.collect::<Vec<_>>(), stored)
    }

    /// What an answer that nobody heard may have told: the ids of what is new in the table, or none.
    fn new_in(&self, stored: &Self, operation: &Operation) -> Vec<Value> {
        let new = |line: &&Line| self.lines.iter().all(|known| known.sort.item != line.sort.item);
        let bought = |line: &&Line| self.lines.iter().all(|known| known.order_id != line.order_id);
        let mut told: BTreeSet<String> = BTreeSet::new();
        match operation {
            Operation::Add { sku, .. } => {
                let lines = stored.lines.iter().filter(new).filter(|line| line.sku == *sku);
                told.extend(lines.map(|line| json!({"itemId": line.id()}).to_string()));
            }
            _ => told
                .extend(stored.lines.iter().filter(bought).map(|line| json!({"orderId": line.order_id}).to_string())),
        }
        let told = told.iter().map(|told| serde_json::from_str(told).expect("JSON"));
        told.chain([Value::Null]).collect()
    }

    fn in_some_order(&self, account: &AccountId, asked: &[(&Asked, Vec<Reply>)], stored: &Self) -> Option<Self> {
        if asked.is_empty() {
            return self.stands_in(stored).then(|| self.clone());
        }
        (0..asked.len()).find_map(|next| {
            let mut rest = asked.to_vec();
            let (Asked { operation, now, reply }, replies) = rest.remove(next);
            let done = replies.iter().find_map(|told| {
                let mut after = self.clone();
                let answer = after.apply(account, operation, *now, Some(told));
                let explained = reply.is_none() || told.says(&answer);
                if explained { after.in_some_order(account, &rest, stored) } else { None }
            });
            done.or_else(|| if reply.is_none() { self.in_some_order(account, &rest, stored) } else { None })
        })
    }

    fn stands_in(&self, stored: &Self) -> bool {
        let sorted =
            |account: &Self| account.lines.iter().map(|line| (line.id(), line.clone())).collect::<BTreeMap<_, _>>();
        let outcomes = |account: &Self| {
            let outcomes = account.outcomes.iter().map(|(key, (_, outcome))| (key.clone(), outcome.clone()));
            outcomes.collect::<BTreeMap<_, _>>()
        };
        sorted(self) == sorted(stored) && outcomes(self) == outcomes(stored)
    }

    /// Nothing came from nowhere and nothing went: what was added, and changed, stands in the lines, removed ones included.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        let counted = self.lines.iter().filter(|line| line.sort.status != Status::Joined);
        counted.map(|line| number(line.quantity)).sum::<i64>() == self.balance
    }
}

/// Asks for all of it at once; what was answered, in the order of the requests.
pub async fn at_once(
    stack: &Stack,
    account: &AccountId,
    operations: impl IntoIterator<Item = Operation>,
    now: TimestampMillis,
) -> Vec<Asked> {
    join_all(operations.into_iter().map(|operation| operation.ask(stack, account, now))).await
}

/// A cart of its own, as the model knows it.
#[derive(Debug)]
pub struct Shopper<'a> {
    stack: &'a Stack,
    /// Whose cart.
    pub id: AccountId,
    now: TimestampMillis,
    account: Account,
}

impl<'a> Shopper<'a> {
    /// An empty cart at that time.
    #[must_use]
    pub fn new(stack: &'a Stack, id: AccountId, now: TimestampMillis) -> Self {
        Self { stack, id, now, account: Account::default() }
    }

    /// What is known.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The ids of the lines, in the order of their products.
    #[must_use]
    pub fn items(&self) -> Vec<ItemId> {
        let mut lines: Vec<_> = self.account.lines.iter().collect();
        lines.sort_by(|one, other| one.sku.cmp(&other.sku));
        lines.into_iter().map(Line::id).collect()
    }

    /// Asks for all of it at once, which some order of it must explain; what was answered.
    pub async fn run(&mut self, operations: Vec<Operation>) -> Vec<Asked> {
        let asked = at_once(self.stack, &self.id, operations, self.now).await;
        self.learn(&asked).await;
        asked
    }

    /// Takes note of what was answered and of what stands in the table: some order of the requests must explain both.
    pub async fn learn(&mut self, asked: &[Asked]) {
        let stored = Stored::read_account(self.stack, &self.id).await;
        stored.check(self.now);
        let found = stored.account(&self.id);
        let end = self.account.explain(&self.id, asked, &found);
        assert!(end.is_some(), "{}: no order of {asked:#?}\nmakes of {:#?}\n{found:#?}", self.id, self.account);
        self.account = end.unwrap_or_default();
        assert!(self.account.is_balanced(), "{}: {:#?}", self.id, self.account);
    }
}

fn id<T: std::str::FromStr>(value: &Value) -> Option<T> {
    value.as_str()?.parse().ok()
}

/// Everything that the table `Cart` holds.
#[derive(Debug)]
pub struct Stored {
    /// The lines of all accounts.
    pub lines: Vec<Line>,
    /// The idempotency records.
    pub records: Vec<Record>,
    pointers: Vec<Pointer>,
}

impl Stored {
    /// Reads the table, strongly consistent.
    pub async fn read(stack: &Stack) -> Self {
        let client = stack.client().expect("a client");
        let table = stack.table("Cart").expect("a table");
        let pages = client.scan().table_name(table).consistent_read(true).into_paginator();
        Self::of(pages.items().send().collect::<Result<_, _>>().await.expect("the items"))
    }

    /// Reads what is one account's, strongly consistent.
    pub async fn read_account(stack: &Stack, account: &AccountId) -> Self {
        let client = stack.client().expect("a client");
        let query = client.query().table_name(stack.table("Cart").expect("a table")).consistent_read(true);
        let query = query.key_condition_expression("PK = :account");
        let query = query.expression_attribute_values(":account", AttributeValue::S(account.to_string()));
        Self::of(query.into_paginator().items().send().collect::<Result<_, _>>().await.expect("the items"))
    }

    fn of(stored: Vec<Attributes>) -> Self {
        let mut items: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for item in stored {
            items.entry(item["Type"].as_s().expect("a type").clone()).or_default().push(item);
        }
        let mut of = |kind: &str| items.remove(kind).unwrap_or_default();
        drop(of("Cart"));
        let (lines, pointers) = (typed(of("CartLine")), typed(of("CartPointer")));
        let stored = Self { lines, records: typed(of("IdempotencyRecord")), pointers };
        assert!(items.is_empty(), "items of other types: {items:?}");
        stored
    }

    /// What is remembered under the key.
    #[must_use]
    pub fn record(&self, key: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.sort.0.to_string() == key)
    }

    /// What stands there of one account.
    #[must_use]
    pub fn account(&self, account: &AccountId) -> Account {
        let lines = self.lines.iter().filter(|line| line.account == *account).cloned().collect();
        let records = self.records.iter().filter(|record| record.account == *account);
        let outcome = |record: &Record| (record.sort.0.to_string(), (String::new(), record.outcome.clone()));
        Account { lines, outcomes: records.map(outcome).collect(), balance: 0 }
    }

    /// Fails where the table could not have come about by any requests that came until now.
    pub fn check(&self, now: TimestampMillis) {
        let mut orders = BTreeMap::new();
        let mut active: BTreeMap<&AccountId, BTreeSet<&Sku>> = BTreeMap::new();
        let ids: BTreeSet<ItemId> = self.lines.iter().map(Line::id).collect();
        assert_eq!(ids.len(), self.lines.len(), "an item id twice: {:#?}", self.lines);
        for line in &self.lines {
            check_line(line);
            if line.sort.status == Status::Active && line.is_live(now) {
                let skus = active.entry(&line.account).or_default();
                assert!(skus.insert(&line.sku), "a product twice in a cart: {line:?}");
                assert!(skus.len() <= MAX_LINES, "more lines than a checkout takes: {line:?}");
            }
            if let Some(order) = &line.order_id {
                let at = *orders.entry((&line.account, order)).or_insert(line.sort.since);
                assert_eq!(at, line.sort.since, "an order of two times: {line:?}");
            }
            if let Some(other) = line.joined_to {
                assert!(other != line.id() && ids.contains(&other), "joined to nothing: {line:?}");
            }
        }
        let key = |line: &Line| (line.account.clone(), ItemSort(line.id()), line.sort, line.expires_at);
        let pointed = |to: &Pointer| (to.account.clone(), to.sort.clone(), to.line, to.expires_at);
        let sorted = |mut keys: Vec<_>| {
            keys.sort();
            keys
        };
        let wanted = sorted(self.lines.iter().map(key).collect());
        assert_eq!(
            sorted(self.pointers.iter().map(pointed).collect()),
            wanted,
            "pointers, and the lines that they should point at"
        );
    }
}

type Attributes = HashMap<String, AttributeValue>;

fn typed<T: DeserializeOwned>(items: Vec<Attributes>) -> Vec<T> {
    items.into_iter().map(|item| serde_dynamo::from_item(item).expect("an item of its type")).collect()
}

fn check_line(line: &Line) {
    let status = line.sort.status;
    let indexed = status.is_listed();
    assert_eq!(line.index_partition, indexed.then(|| line.sku.clone()), "in the index or not: {line:?}");
    assert_eq!(line.index_sort, indexed.then_some(line.sort), "where in the index: {line:?}");
    assert_eq!(line.order_id.is_some(), status == Status::Purchased, "an order id: {line:?}");
    assert_eq!(line.joined_to.is_some(), status == Status::Joined, "a line that it joined: {line:?}");
    let stays = matches!(status, Status::Saved | Status::Purchased);
    assert_eq!(line.expires_at.is_none(), stays, "a life of some days: {line:?}");
    match line.previous {
        None => {
            assert_eq!((status, line.sort.since), (Status::Active, line.added_at), "a line that never moved: {line:?}");
            assert!(line.version >= 1, "{line:?}");
        }
        Some(previous) => {
            let open = matches!(previous.status, Status::Active | Status::Saved) && previous.status != status;
            assert!(open && line.version >= 2, "a move: {line:?}");
            assert!(line.added_at <= previous.since && previous.since <= line.sort.since, "times go back: {line:?}");
        }
    }
}
